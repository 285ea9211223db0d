import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { encodeFrames } from '../protocol/index.ts'
import type { DerivationEvent } from './events.ts'
import { FrameQueue, pruneFrames } from './frameQueue.ts'
import { testConfig } from './testUtils/config.ts'
import { channelId, drain, frames, nameOf, ScriptedStage } from './testUtils/stages.ts'

describe('frames dropped under Holocene rules', () => {
  it.each([
    { id: 'a channel in order', given: 'A0 A1 A2!', kept: 'A0 A1 A2!' },
    { id: 'two channels in order', given: 'A0! B0 B1!', kept: 'A0! B0 B1!' },
    { id: 'a repeated frame', given: 'A0 A0 A1!', kept: 'A0 A1!' },
    { id: 'a gap', given: 'A0 A2 A1!', kept: 'A0 A1!' },
    { id: 'a frame after the end', given: 'A0! A1 A2!', kept: 'A0!' },
    { id: 'a continuation without a beginning', given: 'A0! B1 C0!', kept: 'A0! C0!' },
    { id: 'the first frame is kept: its channel may be open', given: 'A7 A8!', kept: 'A7 A8!' },
    { id: 'an unfinished channel', given: 'A0 A1 B0 B1!', kept: 'B0 B1!' },
    { id: 'several unfinished channels', given: 'A0 A1 B0 C0 C1!', kept: 'C0 C1!' },
    { id: 'an unfinished channel after a finished one', given: 'A0! B0 B1 C0!', kept: 'A0! C0!' },
    { id: 'interleaved channels', given: 'A0 B0 A1! B1!', kept: 'B0 B1!' },
    { id: 'a channel that begins anew', given: 'A0 A1 A0 A1!', kept: 'A0 A1' },
    { id: 'a foreign continuation within a channel', given: 'A0 B1 A1!', kept: 'A0 A1!' },
    { id: 'a continuation before its beginning', given: 'A0! B1 B0!', kept: 'A0! B0!' },
    { id: 'nothing', given: '', kept: '' },
  ])('$id', ({ given, kept }) => {
    expect(pruneFrames(frames(given)).map(nameOf).join(' ')).toBe(kept)
  })
})

describe('frame queue', () => {
  const malformed = [
    new Uint8Array(0),
    Uint8Array.of(0),
    Uint8Array.of(1, 2, 3),
    encodeFrames(frames('Z0!')).subarray(0, -1),
    Uint8Array.from([...encodeFrames(frames('Z0!')), 0]),
  ]

  it.each([false, true])('ignores malformed data (holocene: %s)', async (holocene) => {
    const prev = new ScriptedStage<Uint8Array>()
    const queue = new FrameQueue({ prev, logger: silentLogger }, testConfig(holocene ? 'holocene' : 'granite'))
    prev.push(...malformed, encodeFrames(frames('A0 A1')), ...malformed, encodeFrames(frames('A2!')))
    expect((await drain(queue)).map(nameOf)).toEqual(['A0', 'A1', 'A2!'])
  })

  it('prunes frames within one transaction, not across transactions', async () => {
    const prev = new ScriptedStage<Uint8Array>()
    const queue = new FrameQueue({ prev, logger: silentLogger }, testConfig('holocene'))
    prev.push(encodeFrames(frames('A0 A1 B0')), encodeFrames(frames('A1 A2!')))
    expect((await drain(queue)).map(nameOf)).toEqual(['B0', 'A1', 'A2!'])
    prev.at(2).push(encodeFrames(frames('A0 C1')), encodeFrames(frames('A0 A1!')))
    expect((await drain(queue)).map(nameOf)).toEqual(['A0', 'A0', 'A1!'])
  })

  it('reports the frames of a transaction that no channel can use', async () => {
    const prev = new ScriptedStage<Uint8Array>()
    const emitted: DerivationEvent[] = []
    const modules = { prev, logger: silentLogger, emit: (event: DerivationEvent) => emitted.push(event) }
    prev.push(encodeFrames(frames('A0! A1 B1 B0!')), encodeFrames(frames('A0!')))
    await drain(new FrameQueue(modules, testConfig('holocene')))
    const reason = expect.stringContaining('out of order')
    expect(emitted).toEqual([
      { kind: 'frame-ignored', l1Block: 1, channel: channelId('A'), frame: 1, reason },
      { kind: 'frame-ignored', l1Block: 1, channel: channelId('B'), frame: 1, reason },
    ])
  })

  it('keeps all frames before Holocene', async () => {
    const prev = new ScriptedStage<Uint8Array>()
    const queue = new FrameQueue({ prev, logger: silentLogger }, testConfig('granite'))
    prev.push(encodeFrames(frames('A0 B0 A0 A7')), encodeFrames(frames('C1!')))
    expect((await drain(queue)).map(nameOf)).toEqual(['A0', 'B0', 'A0', 'A7', 'C1!'])
  })
})
