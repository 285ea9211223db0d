// Numbers of nine limbs of 29 bits, 32 bits each in memory, the lowest first, at least 0 and below 2^256.

export const LIMBS: u32 = 9
export const NUMBER_BYTES: u32 = 36
export const LIMB_BITS: i64 = 29
export const MASK: i64 = 0x1fffffff
/** A number as the outside has it: big-endian. */
export const PLAIN_BYTES: u32 = 32

/** Takes in a big-endian number of 32 bytes. */
export function fromPlain(target: u32, source: u32): void {
  for (let limb: u32 = 0; limb < LIMBS; limb++) {
    const bit = limb * <u32>LIMB_BITS
    let value: u64 = 0
    // Five bytes hold any 29 bits.
    for (let i: u32 = 0; i < 5; i++) {
      const byte = (bit >> 3) + i
      if (byte < PLAIN_BYTES) value |= (<u64>load<u8>(source + PLAIN_BYTES - 1 - byte)) << (8 * i)
    }
    store<i32>(target + limb * 4, <i32>((value >> (bit & 7)) & <u64>MASK))
  }
}

export function isZero(number: u32): bool {
  let bits: i32 = 0
  for (let at: u32 = 0; at < NUMBER_BYTES; at += 4) bits |= load<i32>(number + at)
  return bits === 0
}

export function areEqual(a: u32, b: u32): bool {
  let bits: i32 = 0
  for (let at: u32 = 0; at < NUMBER_BYTES; at += 4) bits |= load<i32>(a + at) ^ load<i32>(b + at)
  return bits === 0
}

/** The number less the bound, unless it is below. */
export function subtractIfNotBelow(number: u32, bound: u32): void {
  for (let at: i32 = <i32>NUMBER_BYTES - 4; at >= 0; at -= 4) {
    const a = load<i32>(number + at)
    const b = load<i32>(bound + at)
    if (a > b) break
    if (a < b) return
  }
  let c: i64 = 0
  for (let at: u32 = 0; at < NUMBER_BYTES; at += 4) {
    c += <i64>load<i32>(number + at) - <i64>load<i32>(bound + at)
    store<i32>(number + at, <i32>(c & MASK))
    c >>= LIMB_BITS
  }
}
