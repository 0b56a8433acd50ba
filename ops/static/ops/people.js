/** The desk: keeps the list of people, and of flags with an owner, as they are, without moving focus or scroll. */

import { write as writeAges } from "./ages.js";
import { join } from "./desk_socket.js";
import { doingOf, inOrder } from "./doing.js";
import { flagOf } from "./flag_frames.js";
import { FlagList } from "./flag_item.js";
import { arrange, put } from "./lists.js";
import { words as flagWords } from "./bell.js";
import { countedText, textOf } from "./texts.js";

const list = document.querySelector("[data-people]");
const words = JSON.parse(list.dataset.words);
const name = document.querySelector("[data-find] input");
const owned = new FlagList(document.querySelector("[data-flags]"), { words: flagWords, page: list.dataset.page });
const FLAG_MARKS = { red: textOf("flag_red"), amber: textOf("flag_amber") };
const people = new Map();
const flags = new Map();

function handle(frame) {
  if (frame.type === "hello") {
    // From now on the lists are whole.
    for (const more of document.querySelectorAll("main [data-more]")) more.remove();
    people.clear();
    flags.clear();
    for (const item of frame.people) people.set(item.conversation, item);
    for (const flag of frame.flags) flags.set(flag.id, flagOf(flag));
  } else if (frame.type === "people") {
    for (const item of frame.changed) people.set(item.conversation, item);
    for (const gone of frame.gone ?? []) people.delete(gone);
  } else if (frame.type === "flag") flags.set(frame.id, { ...flags.get(frame.id), ...flagOf(frame) });
  else return;
  draw();
}

function draw() {
  drawPeople();
  const accepted = [...flags.values()].filter((flag) => flag.state === "accepted");
  owned.show(accepted.sort((a, b) => a.id - b.id));
  document.querySelector("[data-no-flags]").hidden = accepted.length > 0;
  writeAges(list);
}

function drawPeople() {
  const wanted = name.value.trim().toLocaleLowerCase();
  const shown = inOrder(people.values()).filter((item) => isWanted(item, wanted));
  arrange(list, shown, { name: "person", idOf: (item) => item.conversation, draw: drawPerson, leave: drawGone });
  document.querySelector("[data-no-people]").hidden = shown.length > 0;
}

/** Whether a person has these letters in their name, or is of a site whose name begins so. */
function isWanted(item, wanted) {
  const texts = [item.name, item.machine ?? ""];
  return texts.some((text) => text.toLocaleLowerCase().includes(wanted)) || item.site_name.toLocaleLowerCase().startsWith(wanted);
}

/** A person who left, and whose link still has the focus. */
function drawGone(node) {
  node.dataset.doing = "gone";
  put(node, "doing", textOf("has_left"));
}

function drawPerson(node, item) {
  const doing = doingOf(item);
  node.dataset.doing = doing;
  node.dataset.flagTier = item.tier ?? "";
  node.querySelector("a").setAttribute("href", list.dataset.page.replace("/0/", `/${item.conversation}/`));
  put(node, "name", item.name || textOf("person_number", { number: item.participant }));
  put(node, "doing", words.doings[doing] ?? doing);
  put(node, "person", item.person ? `: ${item.person.name}` : "");
  put(node, "site", item.site_name);
  put(node, "machine", item.machine ? `, ${item.machine}` : "");
  put(node, "locked", item.locked ? textOf("screen_locked") : "");
  put(node, "page", item.page_open === false ? textOf("no_page") : "");
  put(node, "readers", item.readers.length ? ` ${countedText("reading", item.readers.length, { names: item.readers.join(", ") })}` : "");
  put(node, "flag", FLAG_MARKS[item.tier] ?? "");
  const last = node.querySelector("[data-last]");
  last.dataset.ago = item.last_at ?? "";
  if (!item.last_at) last.textContent = textOf("nothing_yet");
  node.querySelector("[data-here]").dataset.since = item.since;
}

document.querySelector("[data-how]").textContent = textOf("page_kept");
name.addEventListener("input", drawPeople);
join({ frame: handle });
