/** Prints indented JSON to standard output. */
export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, null, 2))
}
