// The memory's own bulk copy is a call out of the module, which takes longer than a short copy itself.

const LONG: u32 = 1024

/** Copies bytes to where up to 15 more may be overwritten; the two must not overlap. */
export function copyOver(target: u32, source: u32, length: u32): void {
  if (length > LONG) {
    memory.copy(target, source, length)
    return
  }
  const end = target + length
  while (target < end) {
    v128.store(target, v128.load(source))
    target += 16
    source += 16
  }
}

/** Copies fewer than 32 bytes, and no more. */
export function copyFew(target: u32, source: u32, length: u32): void {
  for (let i: u32 = 0; i < length; i++) store<u8>(target + i, load<u8>(source + i))
}
