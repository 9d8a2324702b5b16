// Times in the zone of the viewer: without this script they are in UTC. Each names its zone.
const inZone = (() => {
  "use strict";
  const format = (options) => new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", ...options });
  const clock = { hour: "2-digit", minute: "2-digit" };
  const name = (at) => format({ timeZoneName: "short" }).formatToParts(at).find((p) => p.type === "timeZoneName").value;
  const day = (at, year) => format({ day: "numeric", month: "short", ...(year ? { year: "numeric" } : {}) }).format(at);
  return (root) => {
    for (const t of root.querySelectorAll("time[datetime]")) {
      if (!/ UTC$/.test(t.textContent)) continue;
      const at = new Date(t.dateTime);
      const now = new Date();
      const today = at.toDateString() === now.toDateString();
      t.title = t.textContent;
      t.textContent = (today ? "" : day(at, Math.abs(now - at) > 300 * 864e5) + ", ") + format(clock).format(at) + " " + name(at);
    }
    for (const t of root.querySelectorAll("[data-at]")) {
      const at = new Date(t.dataset.at);
      const days = !/:/.test(t.textContent);
      const seconds = /:.*:/.test(t.textContent) ? { second: "2-digit" } : {};
      const midnight = !at.getHours() && !at.getMinutes();
      const time = format({ ...clock, ...seconds }).format(at);
      t.textContent = midnight ? day(at) : days ? `${day(at)} ${time}` : time;
    }
    for (const z of root.querySelectorAll("[data-zone]")) z.textContent = "times in " + name(new Date());
  };
})();
inZone(document);

// On a phone the navigation is a strip, which begins at the page that is open.
(() => {
  const here = document.querySelector("nav a[aria-current]");
  if (here) here.closest("nav").scrollLeft = here.offsetLeft - 16;
})();

// Live figures of a run: the page works without this script, and then shows those of its loading.
"use strict";
(() => {
  const root = document.querySelector("[data-live]");
  if (!root || !window.EventSource) return;
  let source = null;
  let pause = 0; // before a stream that was refused is asked for again, in milliseconds

  // busy reports whether somebody uses a part: it has the focus, a part of the selection, or a table
  // that was opened.
  const busy = (part) => {
    const s = getSelection();
    return part.contains(document.activeElement) || part.querySelector("details[open]") || (s && !s.isCollapsed && s.intersectsNode && s.intersectsNode(part));
  };
  const writing = () => [...document.querySelectorAll("input:not([type=hidden]), textarea")].some((f) => f.value !== f.defaultValue);

  // offer puts a button in the place of plots that came late: by themselves they would move what is
  // below, under the eyes of somebody who reads it.
  const offer = (late, plots) => {
    const show = document.createElement("button");
    show.className = "button";
    show.textContent = "Show the plots";
    show.addEventListener("click", () => late.parentNode.replaceChildren(...plots.childNodes));
    late.replaceChildren(show);
  };

  const show = (event) => {
    pause = 0;
    const next = new DOMParser().parseFromString(event.data, "text/html");
    inZone(next);
    const state = next.querySelector("[data-state]");
    if (state && state.dataset.state !== root.dataset.state && !writing()) {
      location.reload(); // the buttons are others
      return;
    }
    for (const part of next.querySelectorAll("[id^=live-]")) {
      const old = document.getElementById(part.id);
      const late = old && old.querySelector("[data-late]");
      const waits = part.querySelector("[data-late]"); // plots that are here are better
      if (!old || old.innerHTML === part.innerHTML || waits || busy(old)) continue;
      if (late && part.children.length) offer(late, part);
      else if (late) late.replaceChildren(); // there is nothing to show yet; its place stays
      else old.replaceChildren(...part.childNodes);
    }
  };
  const open = () => {
    if (source || document.hidden) return;
    const opened = (source = new EventSource(root.dataset.live));
    source.addEventListener("figures", show);
    // The browser asks again after a broken connection, and not after an answer other than 200.
    source.addEventListener("error", () => {
      if (opened !== source || opened.readyState !== EventSource.CLOSED) return;
      close();
      setTimeout(open, (pause = Math.min(2 * pause + 1000, 60000)));
    });
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

// The list of a new campaign, sent in parts, so that it goes on after a broken connection. The form
// works without this script, and then the list is sent at once.
(() => {
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const state = document.getElementById("upload-state");
  const part = Number(form.dataset.piece);
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", "Uploaded");
  let sending = false;

  const tell = (text, ...more) => state.replaceChildren(text, ...more);
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const answerOf = (r) => ((r.headers.get("Content-Type") || "").startsWith("application/json") ? r.json() : {});

  const changed = "The file was changed, moved or deleted while it was sent, so nothing of it is used. Choose it again.";

  // sumOf reads the file once more, as it is now that all parts have come: the SHA-256 of the
  // SHA-256s of its parts. The server has the same only if no part changed in between.
  const sumOf = async (file) => {
    const hash = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const all = new Uint8Array(32 * Math.ceil(file.size / part));
    for (let i = 0; i * part < file.size; i++) {
      bar.value = i * part;
      tell("All of it has come, and is compared with the file. ", bar);
      all.set(await hash(await file.slice(i * part, (i + 1) * part).arrayBuffer()), 32 * i);
    }
    return [...(await hash(all))].map((b) => b.toString(16).padStart(2, "0")).join("");
  };

  const upload = async (file) => {
    if (!file.size) return tell("The file is empty. Choose the list that you want to send to.");
    if (file.size > Number(form.dataset.most)) return tell(form.dataset.large);
    bar.max = file.size;
    for (let offset = 0, failed = 0; offset < file.size; ) {
      bar.value = offset;
      if (!failed) tell(`${Math.floor((100 * offset) / file.size)} % of ${file.name} has come. `, bar);
      try {
        const r = await fetch(`${form.dataset.upload}?offset=${offset}`, {
          method: "POST", body: file.slice(offset, offset + part), headers: { "Content-Type": "application/octet-stream" },
        });
        const answer = await answerOf(r);
        if (r.ok && answer.received > offset) {
          offset = answer.received;
          failed = 0;
          continue;
        }
        if (r.status === 409 && !answer.sentence && answer.received >= 0) offset = answer.received;
        else if (r.status < 500 || r.status === 507) return tell(answer.sentence || "The list was not taken. Load the page again.");
      } catch {
        try {
          await file.slice(offset, offset + 1).arrayBuffer();
        } catch {
          return tell(changed);
        }
      }
      if (++failed > 100) return tell("The server does not answer. Choose the list again when it does.");
      tell("The connection broke. The upload goes on by itself. ", bar);
      await wait(Math.min(500 * failed, 5000));
    }
    let sum;
    try {
      sum = await sumOf(file);
    } catch {
      return tell(changed);
    }
    const whole = document.createElement("form");
    whole.method = "post";
    whole.action = form.action;
    for (const [name, value] of [["name", file.name], ["sum", sum]]) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value });
      whole.append(field);
    }
    document.body.append(whole);
    whole.submit();
  };
  const begin = async () => {
    if (sending) return;
    if (!input.files.length) return tell("Choose the file of a list, or drop it here.");
    sending = true;
    try {
      await upload(input.files[0]);
    } finally {
      sending = false;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    begin();
  });
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    input.files = event.dataTransfer.files;
    begin();
  });
})();
