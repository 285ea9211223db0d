import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bytesToBigInt, concatBytes, equalBytes } from '../../lib/bytes.ts'
import { sha256 } from '../../lib/hash.ts'
import { fromHex } from '../../lib/hex.ts'

const { G1, G2, fields } = bls12_381

/** Second G2 power of the trusted setup ("powers of tau" ceremony, consensus-specs trusted_setup_4096.json), compressed. */
const TAU_G2 =
  '0xb5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2'

/** FIELD_ELEMENTS_PER_BLOB ‖ BLS_MODULUS, 32 bytes each. */
const OUTPUT = fromHex(
  '0x000000000000000000000000000000000000000000000000000000000000100073eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001',
)
/** EIP-4844: first byte of a versioned hash. */
const VERSIONED_HASH_VERSION_KZG = 1

let tau: InstanceType<typeof G2.Point> | undefined

/**
 * EIP-4844's point evaluation: input versioned hash ‖ z ‖ y ‖ commitment (48) ‖ proof (48). The precompile's output, or
 * undefined when the proof does not hold or the input is malformed.
 */
export function verifyPointEvaluation(input: Uint8Array): Uint8Array | undefined {
  if (input.length !== 192) return undefined
  const commitment = input.subarray(96, 144)
  const versionedHash = concatBytes(Uint8Array.of(VERSIONED_HASH_VERSION_KZG), sha256(commitment).subarray(1))
  if (!equalBytes(versionedHash, input.subarray(0, 32))) return undefined
  const z = bytesToBigInt(input.subarray(32, 64))
  const y = bytesToBigInt(input.subarray(64, 96))
  if (z >= fields.Fr.ORDER || y >= fields.Fr.ORDER) return undefined
  try {
    return verifyProof(pointOf(commitment), z, y, pointOf(input.subarray(144, 192))) ? OUTPUT : undefined
  } catch {
    // Not a point of the curve, or outside its prime-order subgroup.
    return undefined
  }
}

type G1Point = InstanceType<typeof G1.Point>

function pointOf(compressed: Uint8Array): G1Point {
  const point = G1.Point.fromBytes(compressed)
  if (!point.is0()) point.assertValidity()
  return point
}

/** e(C − y·G1, G2) = e(π, (τ − z)·G2). */
function verifyProof(commitment: G1Point, z: bigint, y: bigint, proof: G1Point): boolean {
  tau ??= G2.Point.fromHex(TAU_G2.slice(2))
  const left = y === 0n ? commitment : commitment.subtract(G1.Point.BASE.multiply(y))
  const right = z === 0n ? tau : tau.subtract(G2.Point.BASE.multiply(z))
  // The pairing of a point at infinity is one; the library refuses to compute it.
  const pairs = [
    { g1: left.negate(), g2: G2.Point.BASE },
    { g1: proof, g2: right },
  ].filter((pair) => !pair.g1.is0() && !pair.g2.is0())
  const product = pairs.length === 0 ? fields.Fp12.ONE : bls12_381.pairingBatch(pairs)
  return fields.Fp12.eql(product, fields.Fp12.ONE)
}
