import { bn254 } from '@noble/curves/bn254.js'
import type { Hex } from '../../lib/hex.ts'

/** CODECOPY(0, 27, 384), then an endless loop of pairings of two pairs (the generators), 4 ms each. */
export function pairingLoop(): Hex {
  const { x, y } = bn254.G2.Point.BASE.toAffine()
  const pair = [1n, 2n, x.c1, x.c0, y.c1, y.c0].map((value) => value.toString(16).padStart(64, '0')).join('')
  return `0x610180601b5f395b5f5f6101805f60085afa50600756${'00'.repeat(5)}${pair}${pair}`
}
