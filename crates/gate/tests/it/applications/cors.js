// What a page of another origin can do with the routes of a gate.
const tried = promise => promise.catch(error => error.name);

const call = async (url, more = {}) => {
  const answer = await fetch(url, more);
  const told = answer.ok ? await answer.json() : {};
  return [answer.status, told.method ?? null, told.authorization ?? null, answer.headers.get("x-shown")];
};

const talk = url => new Promise(done => {
  const socket = new WebSocket(url);
  socket.onopen = () => socket.send("hello");
  socket.onmessage = event => { done(event.data); socket.close(); };
  socket.onerror = () => done("refused");
});

const run = async given => {
  const [gate, bearer] = [given.get("gate"), given.get("bearer")];
  const http = path => `http://${gate}${path}`, ws = path => `ws://${gate}${path}`;
  // Cookies ignore ports.
  document.cookie = given.get("cookie") + "; path=/";
  const authorized = { headers: { Authorization: `Bearer ${bearer}` } };
  const json = { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" };
  return {
    put: await tried(call(http("/answer/x"), { method: "PUT", headers: json, body: "{}" })),
    method: await tried(call(http("/answer/x"), { method: "PATCH", headers: json, body: "{}" })),
    field: await tried(call(http("/answer/x"), { headers: { ...json, "X-Other": "1" } })),
    stranger: await tried(call(http("/answer/x"), { headers: { Authorization: "Bearer none" } })),
    down: await tried(call(http("/down/x"), authorized)),
    cookie: await tried(call(http("/creds/x"), { credentials: "include" })),
    post: await tried(call(http("/creds/post"), { method: "POST", credentials: "include", body: "x" })),
    blind: await tried(fetch(http("/creds/blind"), { method: "POST", credentials: "include", mode: "no-cors", body: "x" }).then(a => a.type)),
    pass: await tried(call(http("/pass/x"), authorized)),
    off: await tried(call(http("/off/x"), authorized)),
    any: await tried(call(http("/any/x"), authorized)),
    talk: await talk(ws("/talk/x")),
    closed: await talk(ws("/own/x")),
  };
};
