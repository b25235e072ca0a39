// The WebSocket connection to a game, and HTTP requests.
//
// The oldest unanswered command is sent, and sent again after a reconnection; later ones wait.

import { playerName } from "./settings.js";

const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 5000;
const MAX_SILENCE_MS = 10000;
// Maximum time to open a connection or to answer a command.
const MAX_ANSWER_MS = 4000;
const MAX_COMMAND_MS = 12000;

export class Connection {
  /** `onMessage` receives the server's messages, {type: "connection_lost"} and {type: "command_abandoned"}. */
  constructor(game, tokens, onMessage) {
    Object.assign(this, { game, tokens, onMessage });
    this.client = [...crypto.getRandomValues(new Uint32Array(3))].join("-");
    this.lastNumber = 0;
    // Unanswered commands.
    this.commands = [];
    this.retryDelay = MIN_RETRY_MS;
    // Whether not to reconnect.
    this.isFinal = false;
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/play/${this.game}`);
    this.socket.onopen = () => {
      this.expectMessage(MAX_SILENCE_MS);
      this.socket.send(JSON.stringify({ tokens: this.tokens, client: this.client, name: playerName() }));
    };
    this.socket.onmessage = (event) => this.receive(JSON.parse(event.data));
    this.socket.onclose = () => this.reconnect();
    this.expectMessage(MAX_ANSWER_MS);
  }

  expectMessage(milliseconds) {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => this.reconnect(), milliseconds);
  }

  receive(message) {
    this.expectMessage(MAX_SILENCE_MS);
    if (message.final) this.isFinal = true;
    const [oldest] = this.commands;
    if (message.type === "welcome") {
      this.isJoined = true;
      this.retryDelay = MIN_RETRY_MS;
      this.sendOldestCommand();
    } else if (oldest && oldest.number === message.number) this.finishOldestCommand();
    this.onMessage(message);
  }

  reconnect() {
    this.dropSocket();
    if (this.isFinal) return;
    this.reportLoss();
    this.retryTimer = setTimeout(() => this.open(), this.retryDelay);
    this.retryDelay = Math.min(2 * this.retryDelay, MAX_RETRY_MS);
  }

  /** Join again, with the current name. */
  rejoin() {
    this.dropSocket();
    this.open();
  }

  reportLoss() {
    this.onMessage({ type: "connection_lost", label: this.commands[0]?.label });
  }

  dropSocket() {
    for (const timer of [this.silenceTimer, this.answerTimer, this.retryTimer]) clearTimeout(timer);
    this.isJoined = false;
    Object.assign(this.socket, { onopen: null, onmessage: null, onclose: null });
    this.socket.close();
  }

  /** Send a command now or after reconnecting; `label` names it. */
  send(name, fields, label) {
    const number = ++this.lastNumber;
    const command = { name, label, number, text: JSON.stringify({ command: name, ...fields, number }) };
    command.timer = setTimeout(() => this.abandonOldestCommand(), MAX_COMMAND_MS);
    this.commands.push(command);
    if (!this.isJoined) this.reportLoss();
    else if (this.commands.length === 1) this.sendOldestCommand();
  }

  /** Send a command that changes nothing. */
  query(command, fields) {
    if (this.isJoined) this.socket.send(JSON.stringify({ command, ...fields }));
  }

  sendOldestCommand() {
    const [oldest] = this.commands;
    if (!oldest || !this.isJoined) return;
    this.socket.send(oldest.text);
    this.answerTimer = setTimeout(() => this.reconnect(), MAX_ANSWER_MS);
  }

  finishOldestCommand() {
    clearTimeout(this.answerTimer);
    clearTimeout(this.commands.shift().timer);
    this.sendOldestCommand();
  }

  abandonOldestCommand() {
    this.onMessage({ type: "command_abandoned", ...this.commands[0] });
    this.finishOldestCommand();
    if (!this.isJoined) this.reportLoss();
  }

  close() {
    this.onMessage = () => {};
    this.dropSocket();
  }
}

let catalogue = null;

/** Return the games with their options and players. */
export async function fetchCatalogue() {
  return (catalogue ??= await fetchJson("/catalogue"));
}

/** Return the JSON content of a response: of a POST request if there is a body, else of GET. */
export async function fetchJson(path, body, signal) {
  const options = body && { method: "POST", body: JSON.stringify(body), signal };
  const response = await fetch(path, options).catch((error) => { throw error.name === "AbortError" ? error : new Error("the server cannot be reached"); });
  const content = await response.json();
  if (!response.ok) throw new Error(content.error);
  return content;
}
