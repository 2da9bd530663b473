// A page talks to its own server over a WebSocket, while it sends other requests.
const run = async given => {
  document.cookie = given.get("cookie") + "; path=/; secure";
  const socket = new WebSocket(`wss://${location.host}/ws/talk`, ["chat"]);
  const said = await new Promise(done => {
    const heard = [];
    socket.onopen = () => socket.send("0");
    socket.onmessage = event => {
      heard.push(event.data.length);
      if (heard.length === 20) socket.close(1000);
      else socket.send("x".repeat(heard.length * 1000));
    };
    socket.onerror = () => done("refused");
    socket.onclose = event => done([heard.length, heard[heard.length - 1], event.code, socket.protocol]);
  });
  const way = performance.getEntriesByType("navigation")[0].nextHopProtocol;
  return { said, way };
};
