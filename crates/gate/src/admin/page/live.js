"use strict";
const main = document.querySelector("main");
async function renew() {
  try {
    if (!document.hidden) {
      const answer = await fetch("live", { cache: "no-store", signal: AbortSignal.timeout(5000) });
      if (!answer.ok) throw new Error(answer.status);
      main.innerHTML = await answer.text();
    }
    document.body.classList.remove("is-lost");
  } catch {
    document.body.classList.add("is-lost");
  }
  setTimeout(renew, 1000);
}
setTimeout(renew, 1000);
