/** The staff's socket, one for each page: hands frames to every part of the page, and sends acts, one answer each. */

import { Connection } from "../companion/socket.js";
import { leave } from "./staff.js";
import { textOf } from "./texts.js";

const PATH = "/ws/staff/";
const ANSWER_WITHIN_MS = 8_000;
const CONNECT_WITHIN_MS = 5_000;

const parts = new Set();
/** Acts that wait for their answer, by their `ref`: { answer, timer }. */
const acts = new Map();
let lastRef = 0;
const connection = new Connection(PATH, {
  frame: take,
  up: () => tell("up"),
  down,
  tooLarge: () => answerAll(textOf("frame_too_long")),
  signedOut: leave,
  notAllowed: leave,
});

/** A part of the page: `frame(frame)`, `up()` and `down()` are called if it has them. */
export function join(part) {
  parts.add(part);
  if (connection.isUp) part.up?.();
}

/** Whether the page is connected. */
export function isUp() {
  return connection.isUp;
}

/** Send a frame that has no answer; returns whether it was sent. */
export function send(frame) {
  return connection.send(frame);
}

/** Do something. Resolves to {done, frame, code, text}: `text` says why it was refused, or that no answer came. */
export async function act(frame) {
  if (!connection.isUp) await connected();
  const ref = String(++lastRef);
  if (!connection.ask({ ...frame, ref })) return { done: false, text: textOf("not_connected"), code: "not_connected" };
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(ref, { done: false, text: textOf("no_answer"), code: "no_answer" }), ANSWER_WITHIN_MS);
    acts.set(ref, { answer: resolve, timer });
  });
}

/** The device woke up: look whether the connection still stands. */
export function wake() {
  connection.wake();
}

/** Wait for the connection: a page that was just loaded is connected a moment later. */
function connected() {
  return new Promise((resolve) => {
    const settled = () => {
      parts.delete(part);
      resolve();
    };
    const part = { up: settled };
    parts.add(part);
    setTimeout(settled, CONNECT_WITHIN_MS);
  });
}

function take(frame) {
  if (frame.type === "rights") return leave();
  if (frame.type === "done" || frame.type === "refused") answer(frame);
  tell("frame", frame);
}

function answer(frame) {
  settle(frame.ref, { done: frame.type === "done", frame, code: frame.code ?? "", text: frame.text ?? "" });
}

function settle(ref, outcome) {
  const waiting = acts.get(ref);
  if (!waiting) return;
  acts.delete(ref);
  clearTimeout(waiting.timer);
  waiting.answer(outcome);
}

function answerAll(text) {
  for (const ref of [...acts.keys()]) settle(ref, { done: false, text, code: "lost" });
}

function down() {
  answerAll(textOf("no_answer"));
  tell("down");
}

function tell(what, ...values) {
  for (const part of parts) part[what]?.(...values);
}

window.addEventListener("online", wake);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && wake());
window.addEventListener("blanked", () => connection.close());
window.addEventListener("pagehide", () => connection.close());
// After the page's other parts have joined: the first frame has everything.
document.addEventListener("DOMContentLoaded", () => connection.open());
