import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import type { Frame } from '../protocol/index.ts'
import type { Fork } from '../protocol/types.ts'
import { ChannelAssembler } from './channelAssembler.ts'
import { ChannelBank } from './channelBank.ts'
import type { DerivationEvent } from './events.ts'
import type { Source, StageModules } from './stage.ts'
import { GENESIS_TIME, L1_BLOCK_TIME, testConfig } from './testUtils/config.ts'
import { channelId, drain, frame, frames, nameOf, ScriptedStage } from './testUtils/stages.ts'

/** Feeds frames by L1 block, `"A0 A1 | B0!"`. Returns which channels come out at which block. */
async function run(
  make: (prev: ScriptedStage<Frame>) => { next(): Promise<Uint8Array | 'again' | 'empty'> },
  script: string,
) {
  const prev = new ScriptedStage<Frame>()
  const stage = make(prev)
  const out: string[] = []
  for (const [index, names] of script.split('|').entries()) {
    prev.at(index + 1).push(...frames(names))
    const channels = await drain(stage)
    out.push(channels.map((data) => Buffer.from(data).toString()).join(' '))
  }
  return out.join('|')
}

const bankAt = (fork: Fork | 'bedrock') => (prev: ScriptedStage<Frame>) =>
  new ChannelBank({ prev, logger: silentLogger }, testConfig(fork, { channelTimeout: 2 }))
const assemblerAt = (fork: Fork) => (prev: ScriptedStage<Frame>) =>
  new ChannelAssembler({ prev, logger: silentLogger }, testConfig(fork, { channelTimeout: 2 }))

/** The events of a stage while it reads these frames, in short form. */
async function eventsOf(
  make: (modules: StageModules<Source<Frame>>) => { next(): Promise<Uint8Array | 'again' | 'empty'> },
  given: Frame[],
) {
  const prev = new ScriptedStage<Frame>().push(...given)
  const events: DerivationEvent[] = []
  await drain(make({ prev, logger: silentLogger, emit: (event) => events.push(event) }))
  return events.flatMap((event) => {
    if (event.kind === 'frame-ignored')
      return [`ignored ${nameOf({ ...frame('A0'), channelId: event.channel, number: event.frame })} ${event.reason}`]
    if (!('channel' in event) || typeof event.channel !== 'string') return []
    const name = nameOf({ ...frame('A0'), channelId: event.channel })[0]
    return [event.kind === 'channel-gone' ? `${event.how} ${name} ${event.reason ?? ''}`.trim() : `first ${name}`]
  })
}

describe('channel bank', () => {
  it.each([
    { id: 'one frame', script: 'A0!', out: 'A0!' },
    { id: 'in order', script: 'A0 A1 A2!', out: 'A0A1A2!' },
    { id: 'out of order', script: 'A2! A0 A1', out: 'A0A1A2!' },
    { id: 'over several L1 blocks', script: 'A0|A1!', out: '|A0A1!' },
    { id: 'interleaved', script: 'A0 B0 A1! B1!', out: 'A0A1! B0B1!' },
    { id: 'a ready channel overtakes one that is not', script: 'A0 B0!', out: 'B0!' },
    { id: 'a repeated frame is ignored', script: 'A0 A0 A1!', out: 'A0A1!' },
    { id: 'a second closing frame is ignored', script: 'A2! A1! A0 A1', out: 'A0A1A2!' },
    { id: 'frames beyond the end are dropped', script: 'A3 A2 A1! A0', out: 'A0A1!' },
    { id: 'frames after the end are ignored', script: 'A1! A2 A0', out: 'A0A1!' },
    { id: 'within the timeout', script: 'A0|B0|A1!', out: '||A0A1!' },
    { id: 'timed out', script: 'A0|||A1!', out: '|||' },
    { id: 'a timed-out channel starts over', script: 'A0|||A0!', out: '|||A0!' },
    { id: 'ready, but timed out behind another', script: 'A0 B1!|||B0', out: '|||' },
  ])('$id (Canyon)', async ({ script, out }) => {
    expect(await run(bankAt('canyon'), script)).toBe(out)
  })

  it.each([
    { id: 'only the first channel is read', script: 'A0 B0!|A1!', out: '|A0A1! B0!' },
    { id: 'a channel waits until those before it time out', script: 'A0 |B0!||C0', out: '|||B0!' },
  ])('$id (before Canyon)', async ({ script, out }) => {
    expect(await run(bankAt('bedrock'), script)).toBe(out)
  })

  it('uses the timeout of Granite: 50 L1 blocks', async () => {
    expect(await run(bankAt('granite'), `A0${'|'.repeat(50)}A1!`)).toBe(`${'|'.repeat(50)}A0A1!`)
    expect(await run(bankAt('granite'), `A0${'|'.repeat(51)}A1!`)).toBe('|'.repeat(51))
  })

  // 100,000,000 bytes: 99 full frames of channel A with an overhead of 200 each leave 980,200 for the rest.
  it.each([
    { id: 'just as large as its limit', bytes: 980_200 - 200 - 203, out: ['A', 'B'] },
    { id: 'larger than its limit', bytes: 980_200 - 200 - 202, out: ['B'] },
  ])('drops its oldest channels above its size limit: $id', async ({ bytes, out }) => {
    const prev = new ScriptedStage<Frame>()
    const bank = new ChannelBank({ prev, logger: silentLogger }, testConfig('canyon'))
    const data = new Uint8Array(1_000_000)
    for (let number = 0; number < 99; number++) prev.push({ ...frame(`A${number}`), data })
    prev.push({ ...frame('B0'), data: data.subarray(0, bytes) }, { ...frame('A99!'), data: data.subarray(0, 3) })
    prev.push(frame('B1!'))
    const channels = await drain(bank)
    expect(channels.map((channel) => (channel.length > 99_000_000 ? 'A' : 'B'))).toEqual(out)
  })
})

describe('the events of the channel stages', () => {
  it('of a bank: the awaited channel, and the end of each channel', async () => {
    const bank = (modules: StageModules<Source<Frame>>) => new ChannelBank(modules, testConfig('canyon'))
    expect(await eventsOf(bank, frames('A0 B0 B0 A1! C0! B1!'))).toEqual([
      ...['first A', 'ignored B0 duplicate frame', 'read A', 'first B', 'read C', 'read B'],
    ])
    const full = new Uint8Array(1_000_000)
    const tooMany = Array.from({ length: 100 }, (_, number) => ({ ...frame(`A${number}`), data: full }))
    expect(await eventsOf(bank, [...tooMany, frame('B0')])).toEqual([
      ...['first A', 'dropped A the channel bank is full', 'first B'],
    ])
  })

  it('of an assembler: the reason for a lost frame or channel', async () => {
    const assembler = (modules: StageModules<Source<Frame>>) => new ChannelAssembler(modules, testConfig('holocene'))
    expect(await eventsOf(assembler, frames('A1 A0 A2 B0 B1!'))).toEqual([
      ...['ignored A1 no such channel is open', 'first A', 'ignored A2 frame out of order'],
      ...['dropped A another channel begins', 'first B', 'read B'],
    ])
    const prev = new ScriptedStage<Frame>().push(frame('A0'))
    const events: DerivationEvent[] = []
    const stage = assembler({ prev, logger: silentLogger, emit: (event) => events.push(event) })
    await drain(stage)
    stage.flushChannel()
    stage.flushChannel()
    expect(events.filter(({ kind }) => kind === 'channel-gone')).toEqual([
      { kind: 'channel-gone', l1Block: 1, channel: channelId('A'), how: 'dropped', reason: expect.any(String) },
    ])
  })
})

describe('channel assembler', () => {
  it.each([
    { id: 'one frame', script: 'A0!', out: 'A0!' },
    { id: 'in order', script: 'A0 A1 A2!', out: 'A0A1A2!' },
    { id: 'several channels', script: 'A0! B0 B1!', out: 'A0! B0B1!' },
    { id: 'over several L1 blocks', script: 'A0|A1!', out: '|A0A1!' },
    { id: 'a frame out of order is ignored', script: 'A0 A2! A1!', out: 'A0A1!' },
    { id: 'a beginning replaces what is staged', script: 'A0 B0 A1! B1!', out: 'B0B1!' },
    { id: 'a continuation without a beginning', script: 'A1 A2!', out: '' },
    { id: 'a continuation of another channel', script: 'A0 B1! A1!', out: 'A0A1!' },
    { id: 'frames after the end', script: 'A0! A1!', out: 'A0!' },
    { id: 'the same channel begins anew', script: 'A0 A1 A0 A1!', out: 'A0A1!' },
  ])('$id', async ({ script, out }) => {
    expect(await run(assemblerAt('holocene'), script)).toBe(out)
  })

  it('drops a channel that timed out', async () => {
    expect(await run(assemblerAt('holocene'), `A0${'|'.repeat(50)}A1!`)).toBe(`${'|'.repeat(50)}A0A1!`)
    expect(await run(assemblerAt('holocene'), `A0${'|'.repeat(51)}A1!`)).toBe('|'.repeat(51))
  })

  it('drops a channel that exceeds the size limit', async () => {
    const prev = new ScriptedStage<Frame>()
    // Without Fjord the limit is 10,000,000 bytes, so ten full frames and their overhead exceed it.
    const stage = new ChannelAssembler({ prev, logger: silentLogger }, testConfig('ecotone'))
    const full = (name: string): Frame => ({ ...frame(name), data: new Uint8Array(1_000_000) })
    for (let number = 0; number < 9; number++) prev.push(full(`A${number}`))
    prev.push({ ...full('A9!'), data: new Uint8Array(998_000) })
    for (let number = 0; number < 9; number++) prev.push(full(`D${number}`))
    prev.push({ ...full('D9!'), data: new Uint8Array(998_001) })
    for (let number = 0; number < 10; number++) prev.push(full(`B${number}`))
    prev.push(frame('B10!'), frame('C0!'))
    const channels = await drain(stage)
    expect(channels.map((channel) => channel.length)).toEqual([9_998_000, 3])
  })

  it('accepts no more frames of a channel that exceeded the limit', async () => {
    const data = new Uint8Array(1_000_000)
    const tooMany = Array.from({ length: 10 }, (_, number) => ({ ...frame(`A${number}`), data }))
    const assembler = (modules: StageModules<Source<Frame>>) => new ChannelAssembler(modules, testConfig('ecotone'))
    expect(await eventsOf(assembler, [...tooMany, ...frames('A10! B0!')])).toEqual([
      ...['first A', 'dropped A too large', 'ignored A10 no such channel is open', 'first B', 'read B'],
    ])
  })

  it('drops the staged channel when flushed', async () => {
    const prev = new ScriptedStage<Frame>()
    const stage = assemblerAt('holocene')(prev)
    prev.push(...frames('A0'))
    await drain(stage)
    stage.flushChannel()
    prev.push(...frames('A1! B0!'))
    expect((await drain(stage)).map((data) => Buffer.from(data).toString())).toEqual(['B0!'])
  })

  it.each([
    { graniteBlock: 4, out: '|||A0A1!' },
    { graniteBlock: 5, out: '|||' },
  ])('picks its limits by the time of the L1 block: Granite at $graniteBlock', async ({ graniteBlock, out }) => {
    const granite = GENESIS_TIME + graniteBlock * L1_BLOCK_TIME
    const config = testConfig('fjord', { channelTimeout: 2, forks: { fjord: 0, granite } })
    const make = (prev: ScriptedStage<Frame>) => new ChannelAssembler({ prev, logger: silentLogger }, config)
    expect(await run(make, 'A0|||A1!')).toBe(out)
  })
})
