import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { RollupConfig } from '../protocol/types.ts'
import { RuntimeConfig, UNSAFE_BLOCK_SIGNER_SLOT } from './runtimeConfig.ts'

const SYSTEM_CONFIG: Hex = `0x${'5c'.repeat(20)}`
const hashOf = (number: number): Hex => `0x${number.toString().padStart(64, '0')}`
const word = (address: string): Hex => `0x${'00'.repeat(12)}${address}`

function create(read: () => Promise<Hex>, confirmations = 0) {
  const clock = new ManualClock()
  const reads: unknown[][] = []
  const l1 = {
    blockInfoByLabel: async () => ({ number: 100, hash: hashOf(100) }),
    blockInfoByNumber: async (number: number) => ({ hash: hashOf(number) }),
    storageAt: (...parameters: unknown[]) => {
      reads.push(parameters)
      return read()
    },
  }
  const config = { l1SystemConfigAddress: SYSTEM_CONFIG } as RollupConfig
  return { clock, reads, runtime: new RuntimeConfig({ l1, clock, logger: silentLogger }, config, { confirmations }) }
}

describe('RuntimeConfig', () => {
  it('reads the signer from its slot of the SystemConfig contract', async () => {
    expect(UNSAFE_BLOCK_SIGNER_SLOT).toBe(keccak256Hex(new TextEncoder().encode('systemconfig.unsafeblocksigner')))
    const { runtime, reads } = create(async () => word('ab'.repeat(20)))
    expect(runtime.unsafeBlockSigner()).toBeUndefined()
    await runtime.load()
    expect(runtime.unsafeBlockSigner()).toBe(`0x${'ab'.repeat(20)}`)
    expect(reads).toEqual([[SYSTEM_CONFIG, UNSAFE_BLOCK_SIGNER_SLOT, hashOf(100)]])
  })

  it.each([
    [4, 96],
    [100, 0],
    [101, 100],
  ])('reads below %d confirmations of block 100: at %d', async (confirmations, block) => {
    const { runtime, reads } = create(async () => word('ab'.repeat(20)), confirmations)
    await runtime.load()
    expect(reads).toEqual([[SYSTEM_CONFIG, UNSAFE_BLOCK_SIGNER_SLOT, hashOf(block)]])
  })

  it('treats zero as no signer', async () => {
    const { runtime } = create(async () => word('00'.repeat(20)))
    await runtime.load()
    expect(runtime.unsafeBlockSigner()).toBeUndefined()
  })

  it('reloads, keeps the old value through failures, and ends with the signal', async () => {
    const answers: (Hex | Error)[] = [word('01'.repeat(20)), new Error('timeout'), word('02'.repeat(20))]
    const { runtime, clock } = create(async () => {
      const answer = answers.shift()
      if (answer === undefined || answer instanceof Error) throw answer
      return answer
    })
    await runtime.load()
    const controller = new AbortController()
    const running = runtime.run(controller.signal, 1000)
    await clock.advance(1000)
    expect(runtime.unsafeBlockSigner()).toBe(`0x${'01'.repeat(20)}`)
    await clock.advance(1000)
    expect(runtime.unsafeBlockSigner()).toBe(`0x${'02'.repeat(20)}`)
    controller.abort()
    await running
  })
})
