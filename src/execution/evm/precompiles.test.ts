import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import type { Fork } from '../../rollup/protocol/types.ts'
import { rulesAt } from '../chain/chainConfig.ts'
import { StateDatabase } from '../state/stateDatabase.ts'
import { EMPTY_TRIE_ROOT } from '../state/trie.ts'
import { WorldState } from '../state/worldState.ts'
import { OpEvm } from './opEvm.ts'
import { toAddress } from './runMessage.ts'

const address = (number: number): Hex => `0x${number.toString(16).padStart(40, '0')}`
const P256_VERIFY = address(0x100)

async function call(fork: Fork, to: Hex, data: Uint8Array, gasLimit = 10_000_000n) {
  const evm = new OpEvm(901n, rulesAt({ forks: { [fork]: 0 } }, 0))
  const store = { node: () => undefined, code: () => undefined }
  evm.bind(new WorldState(new StateDatabase({ store }), EMPTY_TRIE_ROOT), () => undefined)
  const { execResult } = await evm.evm.runCall({ to: toAddress(to), data, gasLimit, skipNonceIncrement: true })
  return {
    output: toHex(execResult.returnValue),
    gasUsed: execResult.executionGasUsed,
    failed: execResult.exceptionError !== undefined,
  }
}

describe('P256VERIFY', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const message = Buffer.from('a message')
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const input = concatBytes(
    createHash('sha256').update(message).digest(),
    sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
    Buffer.from(x, 'base64url'),
    Buffer.from(y, 'base64url'),
  )
  const changed = (index: number) => input.map((byte, i) => (i === index ? byte ^ 1 : byte))
  const one = `0x${'0'.repeat(63)}1`

  it.each([
    { id: 'a good signature', data: input, output: one },
    { id: 'another hash', data: changed(0), output: '0x' },
    { id: 'another signature', data: changed(40), output: '0x' },
    { id: 'a point off the curve', data: changed(159), output: '0x' },
    { id: 'input too short', data: input.subarray(0, 159), output: '0x' },
    { id: 'input too long', data: concatBytes(input, Uint8Array.of(0)), output: '0x' },
    { id: 'no input', data: new Uint8Array(), output: '0x' },
    { id: 'zeros', data: new Uint8Array(160), output: '0x' },
  ])('answers $id for 3450 gas, without failing', async ({ data, output }) => {
    expect(await call('fjord', P256_VERIFY, data)).toEqual({ output, gasUsed: 3450n, failed: false })
  })

  it('needs its gas', async () => {
    expect(await call('fjord', P256_VERIFY, input, 3449n)).toEqual({ output: '0x', gasUsed: 3449n, failed: true })
  })

  it('is no precompile before Fjord', async () => {
    expect(await call('ecotone', P256_VERIFY, input)).toEqual({ output: '0x', gasUsed: 0n, failed: false })
  })
})

describe('input limits', () => {
  const PAIRING = address(8)
  const GAS = 100_000_000n
  // Lengths are multiples of a pair, so that nothing but the limit can refuse them; infinity points make pairs cheap.
  it.each([
    { fork: 'fjord' as const, pairs: 587, failed: false },
    { fork: 'granite' as const, pairs: 586, failed: false },
    { fork: 'granite' as const, pairs: 587, failed: true },
    { fork: 'isthmus' as const, pairs: 587, failed: true },
    { fork: 'jovian' as const, pairs: 427, failed: false },
    { fork: 'jovian' as const, pairs: 428, failed: true },
    { fork: 'karst' as const, pairs: 300, failed: false },
    { fork: 'karst' as const, pairs: 301, failed: true },
  ])('bn256 pairing of $pairs pairs under $fork: fails $failed', async ({ fork, pairs, failed }) => {
    const result = await call(fork, PAIRING, new Uint8Array(pairs * 192), GAS)
    expect(result.failed).toBe(failed)
    // A failing precompile takes all it was given.
    expect(result.gasUsed).toBe(failed ? GAS : 45_000n + 34_000n * BigInt(pairs))
  })

  it.each([
    { id: 'G1 MSM', precompile: 0x0c, pair: 160, isthmus: 513_760, jovian: 288_960 },
    { id: 'G2 MSM', precompile: 0x0e, pair: 288, isthmus: 488_448, jovian: 278_784 },
    { id: 'pairing', precompile: 0x0f, pair: 384, isthmus: 235_008, jovian: 156_672 },
  ])('BLS12-381 $id under Isthmus and Jovian', async ({ precompile, pair, isthmus, jovian }) => {
    for (const [fork, limit] of [
      ['isthmus', isthmus],
      ['jovian', jovian],
    ] as const) {
      const over = await call(fork, address(precompile), new Uint8Array(limit + pair), 2n ** 40n)
      expect(over).toEqual({ output: '0x', gasUsed: 2n ** 40n, failed: true })
    }
  })
})

describe('point evaluation (EIP-4844)', () => {
  // go-ethereum, core/vm/testdata/precompiles/pointEvaluation.json
  const input = fromHex(
    '0x01e798154708fe7789429634053cbf9f99b619f9f084048927333fce637f549b564c0a11a0f704f4fc3e8acfe0f8245f0ad1347b378fbf96e206da11a5d3630624d25032e67a7e6a4910df5834b8fe70e6bcfeeac0352434196bdf4b2485d5a18f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7873033e038326e87ed3e1276fd140253fa08e9fc25fb2d9a98527fc22a2c9612fbeafdad446cbc7bcdbdcd780af2c16a',
  )

  it('accepts a proof that holds', async () => {
    expect(await call('ecotone', address(10), input)).toEqual({
      output:
        '0x000000000000000000000000000000000000000000000000000000000000100073eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001',
      gasUsed: 50_000n,
      failed: false,
    })
  })

  it.each([
    { id: 'another versioned hash', index: 5 },
    { id: 'another point', index: 63 },
    { id: 'another value', index: 95 },
    { id: 'another proof', index: 190 },
  ])('refuses $id', async ({ index }) => {
    const data = input.map((byte, i) => (i === index ? byte ^ 1 : byte))
    expect(await call('ecotone', address(10), data)).toEqual({ output: '0x', gasUsed: 10_000_000n, failed: true })
  })

  it('refuses another length', async () => {
    expect((await call('ecotone', address(10), input.subarray(1))).failed).toBe(true)
  })

  it('holds for the constant polynomial, whose proof is the point at infinity', async () => {
    const { sha256 } = await import('../../lib/hash.ts')
    const infinity = concatBytes(Uint8Array.of(0xc0), new Uint8Array(47))
    const hash = concatBytes(Uint8Array.of(1), sha256(infinity).subarray(1))
    const data = concatBytes(hash, new Uint8Array(64), infinity, infinity)
    expect((await call('ecotone', address(10), data)).failed).toBe(false)
  })
})

describe('BLOBBASEFEE', () => {
  it('is 1', async () => {
    const { createMemoryBlock, deposit, wordOf } = await import('../testUtils/memoryBlock.ts')
    const to = address(0x4444)
    // SSTORE(0, BLOBBASEFEE)
    const { execution, world } = createMemoryBlock({ fork: 'ecotone', accounts: { [to]: { code: '0x4a5f55' } } })
    await execution.add(deposit({ to }))
    expect(toHex(world.storage(to, wordOf(0n)))).toBe('0x01')
  })
})
