import { describe, expect, it } from 'vitest'
import { fromHex, type Hex } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { DEFAULT_DISCOVERY_OPTIONS } from '../../src/p2p/base/options.ts'
import { expectFromGo, expectFromUs, meshed, setStage } from './goPeerSetup.ts'

const discoverWith = (bootnodes: string[]) => ({
  discovery: { ...DEFAULT_DISCOVERY_OPTIONS, path: 'memory', bootnodes },
})

/**
 * go-ethereum asks a node for the three distances around the one from it to a random id. Three lookups in four ask for
 * nodes that differ from the asked one in their first bit, as those of keys 3 and 5 differ from that of key 1. With
 * random keys one is at times so near that hundreds of lookups miss it.
 */
const keyOf = (digit: number): Hex => `0x${`0${digit}`.repeat(32)}`

describe('discv5 with go-ethereum', () => {
  const stage = setStage()

  it('our node and go-ethereum find each other', async () => {
    const ours = await stage.ours('holocene', discoverWith([]))
    const { ENR } = await ours.node.self()
    const go = await stage.go({ discovery: { bootnodes: [ENR], dial: false } })
    expect((await go.event('found', ({ peer }) => peer === ours.node.peerId)).record).toBe(ENR)
    expect((await go.event('connected')).inbound).toBe(true)
    await until('the connection', () => ours.node.connectedPeers().length > 0)
    const known = (await ours.node.peers(true)).peers[go.peerId]
    expect(known).toMatchObject({ ENR: go.record, chainID: 901, direction: 2 })
    expect(await ours.node.discoveryTable()).toEqual([go.record])

    await meshed(ours, [go], 3)
    await expectFromUs(ours, go)
    await expectFromGo(go, ours, 3)
  })

  // The bootnode has to know the other from its own list: go-ethereum of this release keeps nobody who comes by.
  it('learns a peer from a bootnode of another chain, and does not dial the bootnode', async () => {
    const go = await stage.go({ key: keyOf(1), discovery: { bootnodes: [], dial: false } })
    const boot = await stage.go({ key: keyOf(3), chainId: 902, discovery: { bootnodes: [go.record], dial: false } })
    const ours = await stage.ours('holocene', discoverWith([boot.record]))
    // A lookup of a random id asks for that bucket three times in four, and comes every five seconds.
    expect((await go.event('connected')).inbound).toBe(true)
    await until('the connection', () => ours.node.connectedPeers().length > 0)
    expect(ours.node.connectedPeers()).toEqual([go.peerId])
    // Who is heard of is dialled at once, before it is in the table.
    await until('both in the table', async () => (await ours.node.discoveryTable()).length === 2)
    expect((await ours.node.discoveryTable()).sort()).toEqual([boot.record, go.record].sort())
  })

  it('is the bootnode through which two nodes find each other', async () => {
    const ours = await stage.ours('holocene', { ...discoverWith([]), privateKey: fromHex(keyOf(1)) })
    const discovery = { bootnodes: [(await ours.node.self()).ENR], dial: true }
    const [one, other] = await Promise.all([
      stage.go({ key: keyOf(3), discovery }),
      stage.go({ key: keyOf(5), discovery }),
    ])
    await one.event('found', ({ peer }) => peer === other.peerId)
    await other.event('found', ({ peer }) => peer === one.peerId)
    await one.event('connected', ({ peer }) => peer === other.peerId)
    await until('both with us', () => ours.node.connectedPeers().length === 2)
  })

  it('knows the new address of a node that has moved', async () => {
    const ours = await stage.ours('holocene', { ...discoverWith([]), privateKey: fromHex(keyOf(1)) })
    const setup = { key: keyOf(3), discovery: { bootnodes: [(await ours.node.self()).ENR], dial: false } }
    const first = await stage.go(setup)
    await until('its record', async () => (await ours.node.discoveryTable()).includes(first.record))
    await first.kill()
    const moved = await stage.go(setup)
    expect(moved.record).not.toBe(first.record)
    await until('its new record', async () => (await ours.node.discoveryTable()).includes(moved.record))
    expect(await ours.node.discoveryTable()).toEqual([moved.record])
  })
})
