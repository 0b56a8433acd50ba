/** Keeps the open alerts above the page right. One that stays is not made anew, so that nobody's press is lost. */

export class Alerts {
  /** `place` holds the title; for operators also a list with a <template> of one alert. */
  constructor(place) {
    this.place = place;
    this.title = place.matches("[data-alerts-title]") ? place : place.querySelector("[data-alerts-title]");
    this.list = place.querySelector("[data-alerts-list]");
  }

  show({ title, open }) {
    this.place.hidden = !title;
    say(this.title, title);
    if (!this.list) return;
    const stays = new Set(open.map((alert) => String(alert.id)));
    for (const item of this.list.querySelectorAll("li")) {
      if (!stays.has(item.dataset.alert)) item.remove();
    }
    // The newest comes first, so the last that is put on top must be the newest.
    for (const alert of [...open].reverse()) this.tell(alert);
  }

  tell(alert) {
    const item = this.list.querySelector(`li[data-alert="${alert.id}"]`) ?? this.made(alert.id);
    for (const place of item.querySelectorAll("[data-field]")) say(place, alert[place.dataset.field]);
  }

  made(id) {
    const template = this.list.querySelector("template");
    const item = template.content.firstElementChild.cloneNode(true);
    const [said, form] = [item.querySelector("strong"), item.querySelector("form")];
    item.dataset.alert = id;
    said.id = `alert-${id}`;
    form.setAttribute("action", form.getAttribute("action").replace("/0/", `/${id}/`));
    form.querySelector("button").setAttribute("aria-describedby", said.id);
    template.after(item);
    return item;
  }
}

function say(place, text) {
  if (place.textContent !== text) place.textContent = text;
}
