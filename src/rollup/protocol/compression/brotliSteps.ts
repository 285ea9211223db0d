// How the reference node takes in a brotli stream. An error of its decoder loses what the step with the error has given so far, but
// for windows that were filled up: those it had to hand on.

/** Its buffer in front of the decoder; the version byte has been taken from it. */
const FIRST_STEP_BYTES = 4096 - 1
const STEP_BYTES = 32 * 1024

/** Where each step ends. */
export function brotliSteps(length: number): number[] {
  const ends: number[] = []
  for (let end = FIRST_STEP_BYTES; end < length; end += STEP_BYTES) ends.push(end)
  ends.push(length)
  return ends
}

/** Size of the window that the stream's first byte declares (RFC 7932, 9.1). */
export function brotliWindowBytes(data: Uint8Array): number {
  const first = data[0] ?? 0
  const short = (first >> 1) & 7
  const long = (first >> 4) & 7
  if ((first & 1) === 0) return 2 ** 16
  if (short !== 0) return 2 ** (17 + short)
  return long === 0 ? 2 ** 17 : 2 ** (8 + long)
}
