import type { Hex } from '../../../lib/hex.ts'
import type { Rules } from '../../config/chainConfig.ts'
import { wordToAddress } from '../interpreter/word.ts'
import { blake2f } from './blake2f.ts'
import { blsG1Add, blsG1Msm, blsG2Add, blsG2Msm, blsMapToG1, blsMapToG2, blsPairing } from './bls12381.ts'
import { bn254Add, bn254Mul, bn254Pairing } from './bn254.ts'
import { ecrecover, identity, ripemd160Hash, sha256Hash } from './hashing.ts'
import { modexp } from './modexp.ts'
import { p256Verify } from './p256Verify.ts'
import { pointEvaluation } from './pointEvaluation.ts'
import type { Precompile } from './precompile.ts'

interface Limits {
  bn254Pairing: number
  blsG1Msm: number
  blsG2Msm: number
  blsPairing: number
}

const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Longest inputs in bytes (specs: granite, isthmus, jovian and karst exec-engine pages, "Precompiles"). */
const LIMITS = {
  before: { bn254Pairing: NO_LIMIT, blsG1Msm: NO_LIMIT, blsG2Msm: NO_LIMIT, blsPairing: NO_LIMIT },
  granite: { bn254Pairing: 112_687, blsG1Msm: NO_LIMIT, blsG2Msm: NO_LIMIT, blsPairing: NO_LIMIT },
  isthmus: { bn254Pairing: 112_687, blsG1Msm: 513_760, blsG2Msm: 488_448, blsPairing: 235_008 },
  jovian: { bn254Pairing: 81_984, blsG1Msm: 288_960, blsG2Msm: 278_784, blsPairing: 156_672 },
  karst: { bn254Pairing: 57_600, blsG1Msm: 288_960, blsG2Msm: 278_784, blsPairing: 156_672 },
} satisfies Record<string, Limits>

function limitsOf(rules: Rules): Limits {
  if (rules.karst) return LIMITS.karst
  if (rules.jovian) return LIMITS.jovian
  if (rules.isthmus) return LIMITS.isthmus
  return rules.granite ? LIMITS.granite : LIMITS.before
}

/** RIP-7212. */
const P256_VERIFY_GAS = 3450n
/** EIP-7951. */
const KARST_P256_VERIFY_GAS = 6900n

/** By address. */
export function precompilesUnder(rules: Rules): ReadonlyMap<Hex, Precompile> {
  const limits = limitsOf(rules)
  const table = new Map<number, Precompile>([
    [0x01, ecrecover],
    [0x02, sha256Hash],
    [0x03, ripemd160Hash],
    [0x04, identity],
    [0x05, modexp(rules.karst)],
    [0x06, bn254Add],
    [0x07, bn254Mul],
    [0x08, bn254Pairing(limits.bn254Pairing)],
    [0x09, blake2f],
  ])
  if (rules.ecotone) table.set(0x0a, pointEvaluation)
  if (rules.isthmus) {
    table.set(0x0b, blsG1Add)
    table.set(0x0c, blsG1Msm(limits.blsG1Msm))
    table.set(0x0d, blsG2Add)
    table.set(0x0e, blsG2Msm(limits.blsG2Msm))
    table.set(0x0f, blsPairing(limits.blsPairing))
    table.set(0x10, blsMapToG1)
    table.set(0x11, blsMapToG2)
  }
  if (rules.fjord) table.set(0x100, p256Verify(rules.karst ? KARST_P256_VERIFY_GAS : P256_VERIFY_GAS))
  return new Map([...table].map(([number, precompile]) => [wordToAddress(number), precompile]))
}

/**
 * Loads the curves in advance, which blocks the event loop for 40 ms. Otherwise a precompile loads its curve at its
 * first call, in the middle of a block or call.
 */
export async function loadCurves(): Promise<void> {
  // Point evaluation loads BLS12-381 for all precompiles.
  for (const precompile of [bn254Add, pointEvaluation, p256Verify(P256_VERIFY_GAS)]) await precompile.load?.()
}
