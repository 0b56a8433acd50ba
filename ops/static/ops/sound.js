/** Sounds made in the page: the ring of a red flag, the soft tone of an amber one, the test. Nothing is loaded. */

const RATE = 22_050;
const LOOP_S = 2.4;
const LOUD = 0.5;
const SOFT = 0.16;
/** A browser that blocks sound leaves the promise of `resume` open for ever. */
const DECIDE_AFTER_MS = 500;

/** [start, length, pitch] in seconds and hertz. */
const RING = [[0, 0.22, 880], [0.26, 0.22, 659], [0.6, 0.22, 880], [0.86, 0.22, 659]];
const AMBER = [[0, 0.45, 523]];

/** Off until `switchOn`, which a press must call first where the browser asks for one. */
export class Sound {
  #context = null;
  #ring = null;

  /** Whether this screen sounds now. */
  get isOn() {
    return this.#context?.state === "running";
  }

  /** Whether a ring is sounding. */
  get isRinging() {
    return this.#ring !== null && this.isOn;
  }

  /** Try to sound; returns whether this browser lets the page. */
  async switchOn() {
    if (!window.AudioContext) return false;
    this.#context ??= new AudioContext();
    const decided = new Promise((resolve) => setTimeout(resolve, DECIDE_AFTER_MS));
    await Promise.race([this.#context.resume().catch(() => {}), decided]);
    return this.isOn;
  }

  /** Ring until `stop`. Tabs of one machine ring in time with each other. */
  ring() {
    if (this.#ring || !this.isOn) return;
    this.#ring = this.#play(RING, LOUD, LOOP_S);
  }

  stop() {
    this.#ring?.stop();
    this.#ring = null;
  }

  /** One soft tone. */
  soft() {
    if (this.isOn) this.#play(AMBER, SOFT);
  }

  /** The ring, once. */
  test() {
    if (this.isOn) this.#play(RING, LOUD);
  }

  close() {
    this.stop();
    this.#context?.close();
    this.#context = null;
  }

  #play(tones, gain, loopS = 0) {
    const lengthS = loopS || Math.max(...tones.map(([start, length]) => start + length));
    const buffer = this.#context.createBuffer(1, Math.ceil(lengthS * RATE), RATE);
    const samples = buffer.getChannelData(0);
    for (const tone of tones) write(samples, tone, gain);
    const source = this.#context.createBufferSource();
    Object.assign(source, { buffer, loop: loopS > 0 });
    source.connect(this.#context.destination);
    source.start(0, loopS ? (Date.now() / 1000) % loopS : 0);
    return source;
  }
}

/** Write a tone that swells and fades, so that it does not click. */
function write(samples, [startS, lengthS, pitch], gain) {
  const first = Math.floor(startS * RATE);
  const count = Math.floor(lengthS * RATE);
  for (let index = 0; index < count; index += 1) {
    const swell = Math.sin((Math.PI * index) / count);
    samples[first + index] += gain * swell * Math.sin((2 * Math.PI * pitch * index) / RATE);
  }
}
