/** A list of turns: says when the state of one of them has changed. */

import { follow } from "./staff.js";

const items = [...document.querySelectorAll("[data-turn]")];
const note = document.querySelector("[data-changed]");

function changed({ turn, stands }) {
  const item = items.find((one) => Number(one.dataset.turn) === turn);
  if (item?.dataset.stands !== stands) note.hidden = false;
}

follow(items.map((item) => Number(item.dataset.turn)), changed);
