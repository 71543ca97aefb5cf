// Fills the frame with HTML that a program showed. The frame's origin is opaque and its policy allows no script but
// this one, so what is put in here can only be looked at.
"use strict";

addEventListener("message", (event) => {
  if (event.source !== parent || typeof event.data !== "string") return;
  const shown = new DOMParser().parseFromString(event.data, "text/html");
  document.head.append(...shown.head.querySelectorAll("style"));
  document.body.replaceChildren(...shown.body.childNodes);
  tell();
  new ResizeObserver(tell).observe(document.body);
});

// tell says how high the contents are.
function tell() {
  parent.postMessage({ height: Math.ceil(document.documentElement.scrollHeight) }, "*");
}

parent.postMessage({ ready: true }, "*");
