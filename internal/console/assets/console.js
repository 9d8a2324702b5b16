// Live figures of a run: the page works without this script, and then shows those of its loading.
"use strict";
(() => {
  const root = document.querySelector("[data-live]");
  if (!root || !window.EventSource) return;
  let source = null;

  // busy reports whether somebody uses a part: it has the focus, or a part of the selection.
  const busy = (part) => {
    const s = getSelection();
    return part.contains(document.activeElement) || (s && !s.isCollapsed && s.intersectsNode && s.intersectsNode(part));
  };
  const writing = () => [...document.querySelectorAll("input:not([type=hidden]), textarea")].some((f) => f.value !== f.defaultValue);

  const show = (event) => {
    const next = new DOMParser().parseFromString(event.data, "text/html");
    const state = next.querySelector("[data-state]");
    if (state && state.dataset.state !== root.dataset.state && !writing()) {
      location.reload(); // the buttons are others
      return;
    }
    for (const part of next.querySelectorAll("[id^=live-]")) {
      const old = document.getElementById(part.id);
      if (old && old.innerHTML !== part.innerHTML && !busy(old)) old.replaceChildren(...part.childNodes);
    }
  };
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(root.dataset.live);
    source.addEventListener("figures", show);
  };
  const close = () => {
    if (source) source.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
})();
