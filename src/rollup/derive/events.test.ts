import { describe, expect, it } from 'vitest'
import { encodeFrames, type Frame } from '../protocol/index.ts'
import { testConfig } from './testUtils/config.ts'
import { channelData, channelFrames, MiniChain } from './testUtils/miniChain.ts'

async function withNineBlocks(fork: 'granite' | 'holocene', overrides: Parameters<typeof testConfig>[1] = {}) {
  const chain = new MiniChain(testConfig(fork, overrides))
  await chain.reset()
  chain.l1.growTo(3)
  await chain.sequenceTo(9)
  return chain
}

const kindsOf = (chain: MiniChain) => chain.events.map(({ kind }) => kind)

describe.each(['granite', 'holocene'] as const)('the events of the stages (%s)', (fork) => {
  it('follows a channel from its first frame to its batches', async () => {
    const chain = await withNineBlocks(fork)
    const [first, second] = channelFrames([chain.span(1, 9)], 2, 'brotli-10') as [Frame, Frame]
    chain.l1.add({ data: [encodeFrames([first])] })
    chain.l1.add({ data: [encodeFrames([second])] })
    await chain.run()
    const id = first.channelId
    const snapshot = { id, openBlock: 4, lastBlock: 54 }
    expect(chain.events).toEqual([
      { kind: 'started', l1Block: 0 },
      { kind: 'channel-first', channel: id },
      {
        ...{ kind: 'frame-added', l1Block: 4, frame: 0 },
        channel: { ...snapshot, frames: 1, bytes: first.data.length, expectedFrames: undefined },
      },
      {
        ...{ kind: 'frame-added', l1Block: 5, frame: 1 },
        channel: { ...snapshot, frames: 2, bytes: first.data.length + second.data.length, expectedFrames: 2 },
      },
      { kind: 'channel-gone', l1Block: 5, channel: id, how: 'read' },
      { kind: 'channel-read', l1Block: 5, bytes: first.data.length + second.data.length },
      { kind: 'batch-read', l1Block: 5, type: 'span' },
    ])
  })

  it('reports a channel that times out', async () => {
    const chain = await withNineBlocks(fork)
    const [first] = channelFrames([chain.span(1, 9)], 2) as [Frame]
    chain.l1.add({ data: [encodeFrames([first])] })
    chain.l1.growTo(60)
    await chain.run()
    expect(chain.events).toContainEqual(
      expect.objectContaining({ kind: 'channel-gone', l1Block: 55, how: 'timed-out' }),
    )
  })

  it('reports which rule a dropped batch breaks, and what else is lost', async () => {
    const chain = await withNineBlocks(fork)
    const foreign = new MiniChain(chain.config)
    foreign.l1.growTo(3, 'other')
    await foreign.sequenceTo(9)
    chain.l1.add({ data: [channelData([foreign.span(1, 3)])] })
    await chain.run()
    expect(chain.events).toContainEqual({
      ...{ kind: 'batch-dropped', l1Block: 4, type: 'span', losesChannel: fork === 'holocene' },
      reason: expect.stringMatching(/./),
    })
  })

  it('reports data that hold no frames, and frames that nothing can use', async () => {
    const chain = await withNineBlocks(fork)
    const [first, second] = channelFrames([chain.span(1, 9)], 2) as [Frame, Frame]
    chain.l1.add({ data: [Uint8Array.of(0, 1, 2), encodeFrames([second, second, first])] })
    await chain.run()
    expect(chain.events).toContainEqual({
      ...{ kind: 'data-ignored', l1Block: 4, what: 'frames' },
      reason: expect.stringContaining('a frame has at least 23 bytes, 2 are left'),
    })
    expect(kindsOf(chain)).toContain('frame-ignored')
  })

  it('reports a singular batch', async () => {
    const chain = await withNineBlocks(fork)
    chain.l1.add({ data: [channelData(chain.singulars(1, 1))] })
    await chain.run()
    expect(chain.events.at(-1)).toEqual({ kind: 'batch-read', l1Block: 4, type: 'singular' })
  })

  it('reports empty blocks in the place of missing ones', async () => {
    const chain = await withNineBlocks(fork, { seqWindowSize: 4 })
    chain.l1.growTo(8)
    await chain.run()
    const empty = chain.events.filter(({ kind }) => kind === 'empty-batch')
    expect(empty).toHaveLength(chain.l2.head.number)
    expect(empty.length).toBeGreaterThan(0)
  })

  it('reports a channel that does not decode', async () => {
    const chain = await withNineBlocks(fork)
    const bad = { channelId: `0x${'ab'.repeat(16)}` as const, number: 0, data: Uint8Array.of(3, 4), isLast: true }
    chain.l1.add({ data: [encodeFrames([bad])] })
    await chain.run()
    expect(chain.events.at(-1)).toMatchObject({ kind: 'channel-left', l1Block: 4 })
  })
})
