/** The bell on every page for staff: a flag rings by sight, by sound, in the title and in the icon until it is accepted. */

import "./ages.js";
import { BellFold } from "./bell_fold.js";
import { join, send } from "./desk_socket.js";
import { FlagList, kindInWords } from "./flag_item.js";
import { flagOf } from "./flag_frames.js";
import { Sound } from "./sound.js";
import { textOf } from "./texts.js";

/** A flag that a colleague accepted stays for so long, so that everyone reads who has it. */
const SHOW_OWNER_MS = 10_000;
const OUT_OF_REACH_AFTER_MS = 10_000;

const bell = document.querySelector("[data-bell]");
const find = (name) => bell.querySelector(`[data-${name}]`);
const icon = document.querySelector("link[rel=icon]");
const [plainIcon, plainTitle] = [icon.href, document.title];
export const words = JSON.parse(bell.dataset.kinds);
const list = new FlagList(find("bell-flags"), { words, page: bell.dataset.page });
const fold = new BellFold(bell);
const sound = new Sound();
const tabs = new BroadcastChannel("companion-staff-sound");
const flags = new Map();
/** How many causes of a flag this screen has confirmed, by flag. */
const seen = new Map();
let isBlank = false;
let wasOn = "sounds" in bell.dataset;
let unreachable = null;

function take(frame) {
  if (frame.type === "hello") {
    const before = new Set(flags.keys());
    flags.clear();
    bell.querySelector("[data-more]")?.remove();
    // What was confirmed on a connection that broke may not have arrived.
    seen.clear();
    for (const flag of (frame.flags ?? []).map(flagOf)) if (flag.state === "open") flags.set(flag.id, flag);
    for (const flag of flags.values()) if (!before.has(flag.id)) announce(flag);
    draw();
  } else if (frame.type === "flag") change(flagOf(frame));
}

function change(flag) {
  const known = flags.get(flag.id);
  if (flag.state === "open") {
    flags.set(flag.id, { ...known, ...flag });
    if (!known) announce(flag);
  } else if (known?.state === "open") {
    flags.set(flag.id, { ...known, ...flag });
    setTimeout(() => forget(flag.id), SHOW_OWNER_MS);
  }
  draw();
}

function forget(id) {
  if (flags.get(id)?.state === "open") return;
  flags.delete(id);
  draw();
}

/** Say once what has come: red to every screen reader at once, amber with a soft tone. */
function announce(flag) {
  const about = kindInWords(flag.kind, words);
  find("bell-news").textContent = `${words.tiers[flag.tier] ?? flag.tier}: ${about}. ${flag.name ?? ""}`;
  if (flag.tier !== "red") sound.soft();
}

function draw() {
  if (isBlank) return;
  const shown = [...flags.values()].sort((a, b) => rank(a) - rank(b) || a.id - b.id);
  list.show(shown);
  fold.show(shown, trouble());
  const open = shown.filter((flag) => flag.state === "open");
  const red = open.filter((flag) => flag.tier === "red");
  bell.toggleAttribute("data-rings", open.length > 0);
  if (red.length) sound.ring();
  else sound.stop();
  const asTitle = { count: open.length, title: plainTitle };
  document.title = open.length ? textOf(red.length ? "title_rings" : "title_flag", asTitle) : plainTitle;
  const wanted = red.length ? bell.dataset.ringIcon : plainIcon;
  if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
  requestAnimationFrame(() => requestAnimationFrame(confirmSeen));
  if (document.visibilityState !== "visible") confirmSeen();
}

function rank(flag) {
  return (flag.state === "open" ? 0 : 2) + (flag.tier === "red" ? 0 : 1);
}

/** Tell the service which flags a person can notice here: they are on a visible page, or their ring sounds. */
function confirmSeen() {
  for (const flag of flags.values()) {
    if (flag.state !== "open" || seen.get(flag.id) >= flag.count || isBlank) continue;
    const isShown = document.visibilityState === "visible" && bell.checkVisibility();
    const isHeard = flag.tier === "red" && sound.isRinging;
    const { id, count } = flag;
    if ((isShown || isHeard) && send({ type: "seen", flag: id, count })) seen.set(id, count);
  }
}

async function switchOn({ pressed }) {
  wasOn = true;
  const isOn = await sound.switchOn();
  saySound();
  draw();
  if (!pressed || !isOn) return;
  sound.test();
  tabs.postMessage("on");
  const body = new FormData();
  body.set("csrfmiddlewaretoken", bell.querySelector("[name=csrfmiddlewaretoken]").value);
  fetch(bell.dataset.soundUrl, { method: "POST", body, keepalive: true }).catch(() => {});
}

/** Why a ring would not be heard here, in a word or two. */
function trouble() {
  if (unreachable === "yes") return textOf("fold_away");
  return sound.isOn ? "" : textOf("fold_silent");
}

function saySound() {
  const says = find("sound-says");
  const heard = sound.isOn ? "sound_on" : wasOn ? "sound_blocked" : "sound_silent";
  says.textContent = textOf(unreachable === "yes" ? "sound_away" : heard);
  says.parentElement.toggleAttribute("data-silent", !sound.isOn || unreachable === "yes");
  find("sound-on").hidden = sound.isOn;
  find("sound-test").hidden = !sound.isOn;
  fold.show([...flags.values()], trouble());
}

function down() {
  delete bell.dataset.connected;
  unreachable ??= setTimeout(() => {
    unreachable = "yes";
    saySound();
  }, OUT_OF_REACH_AFTER_MS);
}

function up() {
  clearTimeout(unreachable);
  unreachable = null;
  bell.dataset.connected = "";
  saySound();
  confirmSeen();
}

for (const place of document.querySelectorAll("[data-bell] [data-scripted]")) place.hidden = false;
find("sound-on").addEventListener("click", () => switchOn({ pressed: true }));
find("sound-test").addEventListener("click", () => sound.test());
tabs.onmessage = () => switchOn({ pressed: false });
document.addEventListener("visibilitychange", confirmSeen);
window.addEventListener("blanked", () => {
  isBlank = true;
  sound.close();
});
saySound();
if (wasOn) switchOn({ pressed: false });
join({ frame: take, up, down });
