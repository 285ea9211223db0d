// How op-node reads a brotli stream. If its decoder fails in a step, it loses the output of that step. Only completely
// filled windows of the step survive, because the decoder had already returned them.

/** op-node's buffer in front of the decoder, without the version byte. */
const FIRST_STEP_BYTES = 4096 - 1
const STEP_BYTES = 32 * 1024

export function brotliSteps(length: number): number[] {
  const ends: number[] = []
  for (let end = FIRST_STEP_BYTES; end < length; end += STEP_BYTES) ends.push(end)
  ends.push(length)
  return ends
}

/** Window size from the stream's first byte (RFC 7932, 9.1). */
export function brotliWindowBytes(data: Uint8Array): number {
  const first = data[0] ?? 0
  const short = (first >> 1) & 7
  const long = (first >> 4) & 7
  if ((first & 1) === 0) return 2 ** 16
  if (short !== 0) return 2 ** (17 + short)
  return long === 0 ? 2 ** 17 : 2 ** (8 + long)
}
