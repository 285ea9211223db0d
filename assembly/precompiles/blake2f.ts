// The compression function of BLAKE2b (RFC 7693, section 3.2), as EIP-152 lays it open: any number of rounds.

/** SIGMA of RFC 7693, section 2.7: which word of the message comes when, as its place in bytes. */
// biome-ignore format: a table
const ORDER: u32 = memory.data<u8>([
  0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120,
  112, 80, 32, 64, 72, 120, 104, 48, 8, 96, 0, 16, 88, 56, 40, 24,
  88, 64, 96, 0, 40, 16, 120, 104, 80, 112, 24, 48, 56, 8, 72, 32,
  56, 72, 24, 8, 104, 96, 88, 112, 16, 48, 40, 80, 32, 0, 120, 64,
  72, 0, 40, 56, 16, 32, 80, 120, 112, 8, 88, 96, 48, 64, 24, 104,
  16, 96, 48, 80, 0, 88, 64, 24, 32, 104, 56, 40, 120, 112, 8, 72,
  96, 40, 8, 120, 112, 104, 32, 80, 0, 56, 48, 24, 72, 16, 64, 88,
  104, 88, 56, 112, 96, 8, 24, 72, 40, 0, 120, 32, 64, 48, 16, 80,
  48, 120, 112, 72, 88, 24, 0, 64, 96, 16, 104, 56, 8, 32, 80, 40,
  80, 16, 64, 32, 56, 48, 8, 40, 120, 88, 72, 112, 24, 96, 104, 0,
])
const ORDERS: u32 = 10

/** Mixes the sixteen words at `work` with those at `message`, in rounds `first` to `first + count - 1`. */
export function mix(work: u32, message: u32, first: u32, count: u32): void {
  let v0 = load<u64>(work)
  let v1 = load<u64>(work, 8)
  let v2 = load<u64>(work, 16)
  let v3 = load<u64>(work, 24)
  let v4 = load<u64>(work, 32)
  let v5 = load<u64>(work, 40)
  let v6 = load<u64>(work, 48)
  let v7 = load<u64>(work, 56)
  let v8 = load<u64>(work, 64)
  let v9 = load<u64>(work, 72)
  let v10 = load<u64>(work, 80)
  let v11 = load<u64>(work, 88)
  let v12 = load<u64>(work, 96)
  let v13 = load<u64>(work, 104)
  let v14 = load<u64>(work, 112)
  let v15 = load<u64>(work, 120)
  let row = first % ORDERS
  for (; count > 0; count--) {
    const order = ORDER + row * 16
    v0 += v4 + load<u64>(message + load<u8>(order, 0))
    v12 = rotr(v12 ^ v0, 32)
    v8 += v12
    v4 = rotr(v4 ^ v8, 24)
    v0 += v4 + load<u64>(message + load<u8>(order, 1))
    v12 = rotr(v12 ^ v0, 16)
    v8 += v12
    v4 = rotr(v4 ^ v8, 63)
    v1 += v5 + load<u64>(message + load<u8>(order, 2))
    v13 = rotr(v13 ^ v1, 32)
    v9 += v13
    v5 = rotr(v5 ^ v9, 24)
    v1 += v5 + load<u64>(message + load<u8>(order, 3))
    v13 = rotr(v13 ^ v1, 16)
    v9 += v13
    v5 = rotr(v5 ^ v9, 63)
    v2 += v6 + load<u64>(message + load<u8>(order, 4))
    v14 = rotr(v14 ^ v2, 32)
    v10 += v14
    v6 = rotr(v6 ^ v10, 24)
    v2 += v6 + load<u64>(message + load<u8>(order, 5))
    v14 = rotr(v14 ^ v2, 16)
    v10 += v14
    v6 = rotr(v6 ^ v10, 63)
    v3 += v7 + load<u64>(message + load<u8>(order, 6))
    v15 = rotr(v15 ^ v3, 32)
    v11 += v15
    v7 = rotr(v7 ^ v11, 24)
    v3 += v7 + load<u64>(message + load<u8>(order, 7))
    v15 = rotr(v15 ^ v3, 16)
    v11 += v15
    v7 = rotr(v7 ^ v11, 63)
    v0 += v5 + load<u64>(message + load<u8>(order, 8))
    v15 = rotr(v15 ^ v0, 32)
    v10 += v15
    v5 = rotr(v5 ^ v10, 24)
    v0 += v5 + load<u64>(message + load<u8>(order, 9))
    v15 = rotr(v15 ^ v0, 16)
    v10 += v15
    v5 = rotr(v5 ^ v10, 63)
    v1 += v6 + load<u64>(message + load<u8>(order, 10))
    v12 = rotr(v12 ^ v1, 32)
    v11 += v12
    v6 = rotr(v6 ^ v11, 24)
    v1 += v6 + load<u64>(message + load<u8>(order, 11))
    v12 = rotr(v12 ^ v1, 16)
    v11 += v12
    v6 = rotr(v6 ^ v11, 63)
    v2 += v7 + load<u64>(message + load<u8>(order, 12))
    v13 = rotr(v13 ^ v2, 32)
    v8 += v13
    v7 = rotr(v7 ^ v8, 24)
    v2 += v7 + load<u64>(message + load<u8>(order, 13))
    v13 = rotr(v13 ^ v2, 16)
    v8 += v13
    v7 = rotr(v7 ^ v8, 63)
    v3 += v4 + load<u64>(message + load<u8>(order, 14))
    v14 = rotr(v14 ^ v3, 32)
    v9 += v14
    v4 = rotr(v4 ^ v9, 24)
    v3 += v4 + load<u64>(message + load<u8>(order, 15))
    v14 = rotr(v14 ^ v3, 16)
    v9 += v14
    v4 = rotr(v4 ^ v9, 63)
    row = row + 1 === ORDERS ? 0 : row + 1
  }
  store<u64>(work, v0)
  store<u64>(work, v1, 8)
  store<u64>(work, v2, 16)
  store<u64>(work, v3, 24)
  store<u64>(work, v4, 32)
  store<u64>(work, v5, 40)
  store<u64>(work, v6, 48)
  store<u64>(work, v7, 56)
  store<u64>(work, v8, 64)
  store<u64>(work, v9, 72)
  store<u64>(work, v10, 80)
  store<u64>(work, v11, 88)
  store<u64>(work, v12, 96)
  store<u64>(work, v13, 104)
  store<u64>(work, v14, 112)
  store<u64>(work, v15, 120)
}
