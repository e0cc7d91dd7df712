"use strict";
/* Browsers start no worker for a page that is read from a disk: there, the search runs in a hidden frame. */
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve) => {
        const script = this.inside.document.createElement("script");
        script.src = address;
        script.onload = resolve;
        this.inside.document.body.append(script);
      });
    }

    async postMessage(data) {
      await this.ready;
      const copy = this.inside.structuredClone(data);
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data: copy }));
    }
  };
}
