import { describe, expect, it } from 'vitest'
import { keccak256 } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../../lib/rlp.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { accountProofFromJson, storageProofsFromJson, verifyAccountProof, verifyStorageProof } from './stateProof.ts'

const KEY: Hex = `0x${'00'.repeat(31)}01`
const OTHER_KEY: Hex = `0x${'00'.repeat(31)}02`
const SEVEN = Uint8Array.of(7)
const PATH = toHex(keccak256(fromHex(KEY))).slice(2)

/** Hex-prefix encoding of nibbles (Yellow Paper, appendix C). */
function compact(nibbles: string, isLeaf: boolean): Uint8Array {
  const flag = isLeaf ? 2 : 0
  return fromHex(nibbles.length % 2 === 1 ? `0x${flag + 1}${nibbles}` : `0x${flag}0${nibbles}`)
}

function branch(nibble: string, child: RlpInput): RlpInput {
  const children: RlpInput[] = Array.from({ length: 17 }, () => new Uint8Array(0))
  children[Number.parseInt(nibble, 16)] = child
  return children
}

/** Whether these nodes, beginning with the root, prove the value of the slot. */
function proves(nodes: readonly RlpInput[], value: bigint, key = KEY): boolean {
  const proof = nodes.map((node) => encodeRlp(node))
  const root = toHex(keccak256(proof[0] ?? new Uint8Array(0)))
  try {
    verifyStorageProof({ key, value, proof }, root)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'bad-storage-proof' })
    return false
  }
}

const hashOf = (node: RlpInput) => keccak256(encodeRlp(node))

describe('a storage proof', () => {
  it('ends at a leaf, which proves its own slot and the absence of others', () => {
    const leaf = [compact(PATH, true), SEVEN]
    expect(proves([leaf], 7n)).toBe(true)
    expect(proves([leaf], 0n)).toBe(false)
    expect(proves([leaf], 0n, OTHER_KEY)).toBe(true)
    expect(proves([leaf], 7n, OTHER_KEY)).toBe(false)
  })

  it('proves nothing by a leaf whose path differs in one place', () => {
    const last = PATH.endsWith('0') ? '1' : '0'
    expect(proves([[compact(PATH.slice(0, -1) + last, true), SEVEN]], 7n)).toBe(false)
  })

  it.each([1, 2])('follows an extension of %i nibbles', (length) => {
    const leaf = [compact(PATH.slice(length), true), SEVEN]
    const extension = [compact(PATH.slice(0, length), false), hashOf(leaf)]
    expect(proves([extension, leaf], 7n)).toBe(true)
    expect(proves([extension], 0n)).toBe(false)
    expect(proves([extension], 0n, OTHER_KEY)).toBe(true)
  })

  it('follows nodes that are embedded in their parent', () => {
    const inner = branch(PATH.charAt(62), [compact(PATH.slice(63), true), SEVEN])
    const extension = [compact(PATH.slice(0, 62), false), hashOf(inner)]
    expect(proves([extension, inner], 7n)).toBe(true)
    expect(proves([extension, inner], 8n)).toBe(false)
  })

  it.each<[string, RlpInput[]]>([
    ['a leaf whose path is too short', [[compact(PATH.slice(0, -1), true), SEVEN]]],
    ['a leaf that holds a list', [[compact(PATH, true), [SEVEN]]]],
    ['a path that is a list', [[[SEVEN], SEVEN]]],
    ['a node of one item', [[compact(PATH, true)]]],
    ['a node without items', [[]]],
    ['a node that is no list', [SEVEN]],
  ])('proves neither a value nor its absence by %s', (_, nodes) => {
    expect(proves(nodes, 7n)).toBe(false)
    expect(proves(nodes, 0n)).toBe(false)
  })
})

describe("the answer of a client's eth_getProof", () => {
  const answer = {
    address: `0x${'11'.repeat(20)}`,
    balance: '0x5',
    codeHash: `0x${'22'.repeat(32)}`,
    nonce: '0x6',
    storageHash: `0x${'33'.repeat(32)}`,
    accountProof: ['0xc0', '0xc1'],
    storageProof: [{ key: '0x1', value: '0x7', proof: ['0xc2'] }],
  }

  it('is accepted', () => {
    expect(accountProofFromJson(answer)).toEqual({
      address: answer.address,
      balance: 5n,
      codeHash: answer.codeHash,
      nonce: 6n,
      storageHash: answer.storageHash,
      accountProof: [Uint8Array.of(0xc0), Uint8Array.of(0xc1)],
    })
    // Some clients omit leading zeros.
    expect(storageProofsFromJson(answer)).toEqual([{ key: KEY, value: 7n, proof: [Uint8Array.of(0xc2)] }])
  })

  it.each(Object.keys(answer).filter((member) => member !== 'storageProof'))('is refused without %s', (member) => {
    expect(() => accountProofFromJson({ ...answer, [member]: undefined })).toThrow(errorWith('decode', member))
  })

  it.each(['key', 'value', 'proof'])('is refused without the %s of a slot', (member) => {
    const [slot] = answer.storageProof
    expect(() => storageProofsFromJson({ storageProof: [{ ...slot, [member]: undefined }] })).toThrow(
      errorWith('decode', member),
    )
    expect(() => storageProofsFromJson({})).toThrow(errorWith('decode', 'storageProof'))
  })

  it('throws an error with a code when it is invalid', () => {
    const fails = () => verifyAccountProof(accountProofFromJson({ ...answer, accountProof: [] }), KEY)
    expect(fails).toThrow(expect.objectContaining({ code: 'bad-account-proof' }))
  })
})
