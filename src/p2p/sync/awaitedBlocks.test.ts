import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { createAwaitedBlocks } from './awaitedBlocks.ts'

const blockOf = (blockNumber: number) => testBlock(testConfig(), { blockNumber })

function setUp() {
  const clock = new ManualClock(1_000_000)
  const awaited = createAwaitedBlocks({ clock })
  const ended = new Map<string, PayloadEnvelope | undefined>()
  const wait = (
    name: string,
    number: number,
    { askedAtMs = clock.now(), signal = new AbortController().signal } = {},
  ) => void awaited.wait(number, askedAtMs, signal).then((envelope) => ended.set(name, envelope))
  return { clock, awaited, ended, wait, settled: () => clock.advance(0) }
}

describe('createAwaitedBlocks', () => {
  it('gives a block to all who wait for it when it comes', async () => {
    const { awaited, ended, wait, settled } = setUp()
    const seventh = blockOf(7)
    wait('a', 7)
    wait('b', 7)
    wait('other', 8)
    awaited.onBlock(seventh)
    await settled()
    expect([...ended]).toEqual([
      ['a', seventh],
      ['b', seventh],
    ])
  })

  it('waits for five seconds from the request on, also when the clock is set back', async () => {
    const { clock, ended, wait } = setUp()
    wait('old', 7, { askedAtMs: clock.now() - 5_000 })
    wait('queued', 7, { askedAtMs: clock.now() - 4_000 })
    wait('from the future', 7, { askedAtMs: clock.now() + 60_000 })
    await clock.advance(0)
    expect([...ended.keys()]).toEqual(['old'])
    await clock.advance(1_000)
    expect([...ended.keys()]).toEqual(['old', 'queued'])
    await clock.advance(4_000)
    expect([...ended]).toEqual([
      ['old', undefined],
      ['queued', undefined],
      ['from the future', undefined],
    ])
  })

  it('ends with the signal', async () => {
    const { ended, wait, settled } = setUp()
    const stop = new AbortController()
    wait('a', 7, stop)
    stop.abort()
    wait('late', 7, stop)
    await settled()
    expect([...ended.keys()]).toEqual(['a', 'late'])
  })

  it('keeps 64 waiting', async () => {
    const { awaited, ended, wait, settled } = setUp()
    for (let n = 0; n < 65; n++) wait(`${n}`, 7)
    await settled()
    expect([...ended]).toEqual([['64', undefined]])
    awaited.onBlock(blockOf(7))
    await settled()
    expect(ended.size).toBe(65)
    wait('next', 7)
    await settled()
    expect(ended.has('next')).toBe(false)
  })
})
