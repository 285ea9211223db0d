import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import type { Fork } from '../../../rollup/protocol/types.ts'
import { rulesAt } from '../../config/chainConfig.ts'
import { wordToAddress as precompileAddress } from '../interpreter/word.ts'
import { precompilesUnder } from './index.ts'
import { callPrecompile } from './precompile.ts'

const P256_VERIFY = precompileAddress(0x100)

async function call(fork: Fork, to: Hex, data: Uint8Array, gasLimit = 10_000_000n) {
  const precompile = precompilesUnder(rulesAt({ forks: { [fork]: 0 } }, 0)).get(to)
  if (precompile === undefined) return { output: '0x', gasUsed: 0n, failed: false }
  const result = await callPrecompile(precompile, data, Number(gasLimit), async () => {})
  if (result === undefined) return { output: '0x', gasUsed: gasLimit, failed: true }
  return { output: toHex(result.output), gasUsed: BigInt(result.gasUsed), failed: false }
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
    { id: 'a valid signature', data: input, output: one },
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

  it('costs 6900 gas from Karst on, whatever the input', async () => {
    expect(await call('jovian', P256_VERIFY, input)).toMatchObject({ output: one, gasUsed: 3450n })
    expect(await call('karst', P256_VERIFY, input)).toEqual({ output: one, gasUsed: 6900n, failed: false })
    for (const data of [changed(40), input.subarray(1)]) {
      expect(await call('karst', P256_VERIFY, data)).toEqual({ output: '0x', gasUsed: 6900n, failed: false })
    }
    expect(await call('karst', P256_VERIFY, input, 6899n)).toEqual({ output: '0x', gasUsed: 6899n, failed: true })
  })

  it('fails without enough gas', async () => {
    expect(await call('fjord', P256_VERIFY, input, 3449n)).toEqual({ output: '0x', gasUsed: 3449n, failed: true })
  })

  it('does not exist before Fjord', async () => {
    expect(await call('ecotone', P256_VERIFY, input)).toEqual({ output: '0x', gasUsed: 0n, failed: false })
  })
})

describe('all precompiles', () => {
  const table = precompilesUnder(rulesAt({ forks: { karst: 0 } }, 0))
  /** These refuse zeros and so give no output: ECRECOVER, point evaluation, P256VERIFY. */
  const refuseZeros = [1, 0x0a, 0x100].map(precompileAddress)

  it.each([...table])('%s does not change its input and returns no part of it', async (to, precompile) => {
    let outputs = 0
    for (const length of [0, 32, 64, 99, 128, 160, 192, 213, 256, 288, 384, 512]) {
      const memory = new Uint8Array(1024).fill(0xab)
      const input = memory.subarray(77, 77 + length).fill(0)
      // For MODEXP: 1 to the power of 1, modulo 7. For the others zeros are valid.
      if (to === precompileAddress(5) && length >= 99)
        for (const at of [31, 63, 95, 96, 97, 98]) input[at] = at === 98 ? 7 : 1
      const before = memory.slice()
      const result = await callPrecompile(precompile, input, 2 ** 40, async () => {})
      expect(memory).toEqual(before)
      if (result === undefined || result.output.length === 0) continue
      outputs++
      expect(result.output.buffer).not.toBe(memory.buffer)
    }
    expect(outputs > 0).toBe(!refuseZeros.includes(to))
  })
})

describe('callPrecompile', () => {
  it('yields before a long input, not before a short input', async () => {
    const identity = precompilesUnder(rulesAt({ forks: { karst: 0 } }, 0)).get(precompileAddress(4))
    if (identity === undefined) throw new Error('no precompile')
    let turns = 0
    const yieldToLoop = async () => {
      turns++
    }
    await callPrecompile(identity, new Uint8Array(1_000), 1_000_000, yieldToLoop)
    expect(turns).toBe(0)
    const long = await callPrecompile(identity, new Uint8Array(100_000).fill(7), 1_000_000, yieldToLoop)
    expect(turns).toBe(1)
    expect(long?.output).toEqual(new Uint8Array(100_000).fill(7))
  })
})

describe('MODEXP', () => {
  const MODEXP = precompileAddress(5)
  const GAS = 100_000_000n
  const length = (bytes: number) => fromHex(`0x${bytes.toString(16).padStart(64, '0')}`)
  /** base = 3, an exponent with these first bytes and zeros after them, an odd modulus. */
  function modexp(baseBytes: number, exponentBytes: number, modulusBytes: number, exponent: number[] = [0xff]) {
    const base = new Uint8Array(baseBytes)
    if (baseBytes > 0) base[baseBytes - 1] = 3
    const power = new Uint8Array(exponentBytes)
    power.set(exponent.slice(0, exponentBytes))
    const modulus = new Uint8Array(modulusBytes).fill(0xfb)
    return concatBytes(length(baseBytes), length(exponentBytes), length(modulusBytes), base, power, modulus)
  }

  // EIP-2565 divides by 3 and takes at least 200; EIP-7883 does not divide, takes at least 500, and doubles both
  // factors.
  it.each([
    { id: 'small numbers', input: modexp(1, 1, 1, [3]), jovian: 200n, karst: 500n },
    { id: 'no exponent', input: modexp(32, 0, 32), jovian: 200n, karst: 500n },
    { id: '32 bytes each', input: modexp(32, 32, 32), jovian: (255n * 16n) / 3n, karst: 255n * 16n },
    { id: '33 bytes of modulus', input: modexp(1, 32, 33), jovian: (255n * 25n) / 3n, karst: 255n * 50n },
    {
      id: 'an exponent of 40 bytes',
      input: modexp(8, 40, 8),
      jovian: 200n,
      karst: (16n * 8n + 255n) * 16n,
    },
    {
      id: 'an exponent of 40 bytes that begins with 32 zeros',
      input: modexp(64, 40, 64, [...new Array(32).fill(0), 1]),
      jovian: (64n * 8n * 8n) / 3n,
      karst: 16n * 8n * 2n * 64n,
    },
    { id: '1024 bytes of modulus', input: modexp(1, 1, 1024), jovian: (7n * 16384n) / 3n, karst: 7n * 32768n },
  ])('costs the gas of Jovian and of Karst for $id', async ({ input, jovian, karst }) => {
    const before = await call('jovian', MODEXP, input, GAS)
    expect(before).toMatchObject({ gasUsed: jovian, failed: false })
    expect(await call('karst', MODEXP, input, GAS)).toEqual({ ...before, gasUsed: karst })
    expect((await call('karst', MODEXP, input, karst - 1n)).failed).toBe(true)
  })

  it.each([
    { id: 'base', input: modexp(1025, 1, 1) },
    { id: 'exponent', input: modexp(1, 1025, 1) },
    { id: 'modulus', input: modexp(1, 1, 1025) },
    { id: 'exponent, with nothing else', input: modexp(0, 1025, 0) },
  ])('refuses a $id above 1024 bytes from Karst on', async ({ input }) => {
    expect((await call('jovian', MODEXP, input, GAS)).failed).toBe(false)
    expect(await call('karst', MODEXP, input, GAS)).toEqual({ output: '0x', gasUsed: GAS, failed: true })
  })
})

describe('CLZ', () => {
  const CODE: Hex = '0x60011e5f55'

  it('counts leading zeros from Karst on, and is undefined before', async () => {
    const { createMemoryBlock, deposit, slotOf } = await import('../../testUtils/memoryBlock.ts')
    const to = precompileAddress(0x4444)
    for (const [fork, status, expected] of [
      ['jovian', 0, 0n],
      ['karst', 1, 255n],
    ] as const) {
      const { execution, world } = createMemoryBlock({ fork, accounts: { [to]: { code: CODE } } })
      expect((await execution.add(deposit({ to }))).status).toBe(status)
      expect(slotOf(world, to, 0n)).toBe(expected)
    }
  })
})

describe('input limits', () => {
  const PAIRING = precompileAddress(8)
  const GAS = 100_000_000n
  // Lengths are multiples of a pair, so that only the limit can refuse them. Points at infinity make pairs cheap.
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
    // A failing precompile uses all its gas.
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
      const over = await call(fork, precompileAddress(precompile), new Uint8Array(limit + pair), 2n ** 40n)
      expect(over).toEqual({ output: '0x', gasUsed: 2n ** 40n, failed: true })
    }
  })
})

describe('point evaluation (EIP-4844)', () => {
  // go-ethereum, core/vm/testdata/precompiles/pointEvaluation.json
  const input = fromHex(
    '0x01e798154708fe7789429634053cbf9f99b619f9f084048927333fce637f549b564c0a11a0f704f4fc3e8acfe0f8245f0ad1347b378fbf96e206da11a5d3630624d25032e67a7e6a4910df5834b8fe70e6bcfeeac0352434196bdf4b2485d5a18f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7873033e038326e87ed3e1276fd140253fa08e9fc25fb2d9a98527fc22a2c9612fbeafdad446cbc7bcdbdcd780af2c16a',
  )

  it('accepts a valid proof', async () => {
    expect(await call('ecotone', precompileAddress(10), input)).toEqual({
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
    expect(await call('ecotone', precompileAddress(10), data)).toEqual({
      output: '0x',
      gasUsed: 10_000_000n,
      failed: true,
    })
  })

  it('refuses input of another length', async () => {
    expect((await call('ecotone', precompileAddress(10), input.subarray(1))).failed).toBe(true)
  })

  it('accepts the constant polynomial, whose proof is the point at infinity', async () => {
    const { sha256 } = await import('../../../lib/hash.ts')
    const infinity = concatBytes(Uint8Array.of(0xc0), new Uint8Array(47))
    const hash = concatBytes(Uint8Array.of(1), sha256(infinity).subarray(1))
    const data = concatBytes(hash, new Uint8Array(64), infinity, infinity)
    expect((await call('ecotone', precompileAddress(10), data)).failed).toBe(false)
  })
})

describe('BLOBBASEFEE', () => {
  it('returns 1', async () => {
    const { createMemoryBlock, deposit, wordOf } = await import('../../testUtils/memoryBlock.ts')
    const to = precompileAddress(0x4444)
    // SSTORE(0, BLOBBASEFEE)
    const { execution, world } = createMemoryBlock({ fork: 'ecotone', accounts: { [to]: { code: '0x4a5f55' } } })
    await execution.add(deposit({ to }))
    expect(toHex(world.storage(to, wordOf(0n)))).toBe('0x01')
  })
})
