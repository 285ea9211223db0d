import { concatBytes, equalBytes } from '../../../lib/bytes.ts'
import { systemClock } from '../../../lib/clock.ts'
import { sha256 } from '../../../lib/hash.ts'
import { fromHex } from '../../../lib/hex.ts'
import { createKzg } from '../../../lib/kzg/index.ts'
import { silentLogger } from '../../../lib/logger.ts'
import { runNow, type SlicedTask } from '../../../lib/slicedTask.ts'
import { inOwnTask } from '../../../lib/yieldToLoop.ts'
import { bls12381 } from './bls12381.ts'
import { isZero, Lazy, type Mcl, SIZES } from './mcl.ts'
import type { Precompile } from './precompile.ts'

/** EIP-4844. */
const POINT_EVALUATION_GAS = 50_000n
const INPUT_BYTES = 192
/** EIP-4844: first byte of a versioned hash. */
const VERSIONED_HASH_VERSION_KZG = 1
/** FIELD_ELEMENTS_PER_BLOB ‖ BLS_MODULUS, 32 bytes each. */
const OUTPUT = fromHex(
  '0x000000000000000000000000000000000000000000000000000000000000100073eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001',
)

/** x, y of the generator of BLS12-381's G1 (draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1). */
const G1_GENERATOR = [
  '0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
  '0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1',
].map((element) => fromHex(element))
/** x0, x1, y0, y1 of the generator of G2. */
const G2_GENERATOR = [
  '0x024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8',
  '0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e',
  '0x0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801',
  '0x0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be',
].map((element) => fromHex(element))
/** Second G2 power of the trusted setup ("powers of tau" ceremony, consensus-specs trusted_setup_4096.json). */
const TAU_G2 = [
  '0x185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2',
  '0x15bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72',
  '0x014353bdb96b626dd7d5ee8599d1fca2131569490e28de18e82451a496a9c9794ce26d105941f383ee689bfbbb832a99',
  '0x1666c54b0a32529503432fcae0181b4bef79de09fc63671fda5ed1ba9bfa07899495346f3d7ac9cd23048ef30d0a154f',
].map((element) => fromHex(element))
/** (p − 1) / 2. A larger y has the sign bit. */
const HALF = fromHex(
  '0x0d0088f51cbff34d258dd3db21a5d66bb23ba5c279c2895fb39869507b587b120f55ffff58a9ffffdcff7fffffffd555',
)
const POINT_BYTES = 48
const COMPRESSED = 0x80
const INFINITY = 0x40
const SIGN = 0x20

interface PointProof {
  commitment: Uint8Array
  z: Uint8Array
  y: Uint8Array
  proof: Uint8Array
}

/** The point at infinity, compressed. */
const EMPTY_POINT = Uint8Array.from({ length: POINT_BYTES }, (_, index) => (index === 0 ? COMPRESSED | INFINITY : 0))

/** Verifies KZG proofs, with its reserved memory in mcl. */
class PointEvaluation {
  private readonly mcl: Mcl
  /** The generator and the proof, which are multiplied by scalars, then the commitment. */
  private readonly points: number
  private readonly scalars: number
  private readonly sum: number
  private readonly negated: number
  private readonly work: number
  private readonly product: number
  /** Precomputed lines of Miller's loop for the two fixed points of G2. */
  private readonly generatorLines: number
  private readonly tauLines: number

  constructor(mcl: Mcl) {
    this.mcl = mcl
    this.points = mcl.reserve(3 * SIZES.g1)
    this.scalars = mcl.reserve(2 * SIZES.scalar)
    this.sum = mcl.reserve(2 * SIZES.g1)
    this.negated = this.sum + SIZES.g1
    this.work = mcl.reserve(3 * SIZES.field)
    this.product = mcl.reserve(SIZES.gt)
    this.generatorLines = this.linesOf(G2_GENERATOR)
    this.tauLines = this.linesOf(TAU_G2)
  }

  /**
   * Runs in two steps of some milliseconds each. The first dozen runs take seven milliseconds, until V8 has optimised
   * the code.
   */
  *holds({ commitment: commitmentBytes, z: zBytes, y: yBytes, proof: proofBytes }: PointProof): SlicedTask<boolean> {
    const { mcl, points, scalars, sum, negated, product } = this
    const { raw } = mcl
    const [generator, proof, commitment] = [points, points + SIZES.g1, points + 2 * SIZES.g1]
    const [y, z] = [scalars, scalars + SIZES.scalar]
    if (!mcl.putScalar(z, zBytes) || !mcl.putScalar(y, yBytes)) return false
    if (!this.putCompressed(commitment, commitmentBytes) || !this.putCompressed(proof, proofBytes)) return false
    // e(C − y G1 + z π, G2) = e(π, τ G2)
    mcl.putPoint(generator, G1_GENERATOR)
    raw.mclBnFr_neg(y, y)
    raw.mclBnG1_mulVec(sum, points, scalars, 2)
    raw.mclBnG1_add(sum, sum, commitment)
    raw.mclBnG1_neg(negated, proof)
    const isSumZero = raw.mclBnG1_isZero(sum) === 1
    const isProofZero = raw.mclBnG1_isZero(negated) === 1
    // A pairing with the point at infinity is one. A pairing of two other points is not.
    if (isSumZero || isProofZero) return isSumZero && isProofZero
    raw.mclBnG1_normalize(sum, sum)
    raw.mclBnG1_normalize(negated, negated)
    const both = mcl.memory().slice(sum, sum + 2 * SIZES.g1)
    yield
    mcl.memory().set(both, sum)
    raw.mclBn_precomputedMillerLoop2(product, sum, this.generatorLines, negated, this.tauLines)
    raw.mclBn_finalExp(product, product)
    return raw.mclBnGT_isOne(product) === 1
  }

  /** Writes a compressed point of G1 in its canonical form (EIP-4844 refers to Zcash's). False if it is invalid. */
  private putCompressed(at: number, bytes: Uint8Array): boolean {
    const { mcl, work } = this
    const { raw } = mcl
    const [first = 0] = bytes
    if ((first & COMPRESSED) === 0) return false
    const x = Uint8Array.from(bytes)
    x[0] = first & 0x1f
    if ((first & INFINITY) !== 0) {
      if ((first & SIGN) !== 0 || !isZero(x)) return false
      raw.mclBnG1_clear(at)
      return true
    }
    const [root, square] = [work, work + SIZES.field]
    if (!mcl.putField(at, x)) return false
    // y² = x³ + 4
    raw.mclBnFp_sqr(square, at)
    raw.mclBnFp_mul(square, square, at)
    raw.mclBnFp_setInt32(work + 2 * SIZES.field, 4)
    raw.mclBnFp_add(square, square, work + 2 * SIZES.field)
    if (raw.mclBnFp_squareRoot(root, square) !== 0) return false
    const y = new Uint8Array(POINT_BYTES)
    mcl.takeField(root, y, 0)
    const isGreater = Buffer.compare(y, HALF) > 0
    if (isGreater !== ((first & SIGN) !== 0)) raw.mclBnFp_neg(root, root)
    mcl.takeField(root, y, 0)
    return mcl.putPoint(at, [x, y]) && raw.mclBnG1_isValidOrder(at) === 1
  }

  private linesOf(fixed: readonly Uint8Array[]): number {
    const { mcl } = this
    const point = mcl.reserve(SIZES.g2)
    if (!mcl.putPoint(point, fixed)) throw new Error('no point of G2')
    const lines = mcl.reserve(8 * mcl.raw.mclBn_getUint64NumToPrecompute())
    mcl.raw.mclBn_precomputeG2(lines, point)
    return lines
  }
}

const verifier = new Lazy(async () => {
  await bls12381.load()
  return new PointEvaluation(bls12381.value.mcl)
})

/** A library that takes a quarter of mcl's time. Not loaded until it has answered once, or if it failed. */
export const kzgLibrary = new Lazy(async () => {
  // Starting its process takes 10 ms or more.
  await inOwnTask()
  const kzg = createKzg({ clock: systemClock, logger: silentLogger })
  await kzg.verifyPointProof(EMPTY_POINT, new Uint8Array(32), new Uint8Array(32), EMPTY_POINT)
  return kzg
})

/** Input: versioned hash (32) ‖ z (32) ‖ y (32) ‖ commitment (48) ‖ proof (48). Undefined if it is malformed. */
function readInput(input: Uint8Array): PointProof | undefined {
  if (input.length !== INPUT_BYTES) return undefined
  const commitment = input.subarray(96, 144)
  const versionedHash = concatBytes(Uint8Array.of(VERSIONED_HASH_VERSION_KZG), sha256(commitment).subarray(1))
  if (!equalBytes(versionedHash, input.subarray(0, 32))) return undefined
  return { commitment, z: input.subarray(32, 64), y: input.subarray(64, 96), proof: input.subarray(144) }
}

/** EIP-4844. */
export const pointEvaluation: Precompile = {
  gas: () => POINT_EVALUATION_GAS,
  load: verifier.load,
  *run(input) {
    const proof = readInput(input)
    return proof !== undefined && (yield* verifier.value.holds(proof)) ? OUTPUT : undefined
  },
  runElsewhere(input) {
    const loading = kzgLibrary.load()
    // While the library loads, or if it fails, mcl is used.
    loading?.catch(() => {})
    const points = readInput(input)
    if (loading !== undefined || points === undefined || verifier.load() !== undefined) return undefined
    const { commitment, z, y, proof } = points
    return kzgLibrary.value.verifyPointProof(commitment, z, y, proof).then(
      (holds) => (holds ? OUTPUT : undefined),
      () => (runNow(verifier.value.holds(points)) ? OUTPUT : undefined),
    )
  },
}
