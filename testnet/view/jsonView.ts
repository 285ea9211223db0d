import type { Output, View } from './view.ts'

/** Prints one JSON object a line, for programs. */
export function createJsonView(output: Output): View {
  return {
    statusIntervalMs: 2_000,
    handle(event) {
      output.write(`${JSON.stringify(event)}\n`)
    },
    close() {},
  }
}
