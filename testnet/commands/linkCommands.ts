import { setTimeout as delay } from 'node:timers/promises'
import { parseDurationMs } from '../../src/lib/duration.ts'
import { DeviumError, UsageError } from '../../src/lib/errors.ts'
import { countOf, listOf } from '../../src/lib/phrases.ts'
import type { Pair } from '../links/peerLinks.ts'
import type { LinkQuality } from '../links/tcpProxy.ts'
import type { CommandedTestnet, Handler } from './commandedTestnet.ts'
import { nodeNamed } from './nodeLookup.ts'

/** Poll interval for nodes whose connections were just cut. */
const POLL_MS = 50
const CUT_TIMEOUT_MS = 10_000

/** `partition a,b|c,d`. Nodes that are not named form one more side. */
export const partition: Handler = async (testnet, words) => {
  const { links } = testnet
  const names = links.names()
  const named = words
    .join('|')
    .split('|')
    .map((side) => side.split(',').filter((name) => name !== ''))
    .filter((side) => side.length > 0)
  for (const name of named.flat()) nodeNamed(testnet, name)
  const twice = named.flat().find((name, index, all) => all.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`partition: ${twice} is on two sides`)
  const others = names.filter((name) => !named.flat().includes(name))
  const sides = others.length === 0 ? named : [...named, others]
  if (sides.length < 2) throw new UsageError(`partition: expected two sides, got one with all nodes: ${listOf(names)}`)
  const before = await connectedPairs(testnet)
  links.part(sides)
  const freed = await testnet.blocks.set(pairsRound(testnet).filter(([one, other]) => links.areParted(one, other)))
  const chains = sides.flatMap((side) => side.slice(1).map((name, index): Pair => [side[index] ?? '', name]))
  const within = before.filter(([one, other]) => !links.areParted(one, other))
  await joinPairs(testnet, [...within, ...chains])
  await dialAgain(testnet, freed)
  const away = sides.find((side) => !side.includes(names[0] ?? ''))?.[0]
  return {
    did: `The network is partitioned: ${sides.map(listOf).join(' | ')}.`,
    lookAt: `${away} gets no blocks by gossip: npx devium status --rpc ${rpcOf(testnet, away)}`,
  }
}

/** `link a-b delay=200ms,loss=5%,rate=100kB`, `link all …`, `link a-b off`. */
export const changeLink: Handler = async (testnet, [which = '', ...settings]) => {
  const { links } = testnet
  const quality = parseQuality(settings.join(','))
  const before = await connectedPairs(testnet)
  const chosen = which === 'all' ? before.filter((pair) => !isRound(testnet, pair)) : [pairOf(testnet, which)]
  const round = chosen.find((pair) => isRound(testnet, pair))
  if (round !== undefined) {
    const other = round.find((name) => hasOtherClient(testnet, name))
    throw new UsageError(
      `link: ${other} gives its peers its own port, so they bypass the link: use partition, kill or pause`,
    )
  }
  // Doors close at the first fault. Connections that used a door reconnect by the proxy of their pair.
  for (const [one, other] of chosen) links.set(one, other, quality)
  await joinPairs(testnet, [...before, ...chosen])
  const effect = quality === undefined ? 'whole again' : describeQuality(quality)
  const [[one, other] = ['', '']] = chosen
  return {
    did: `${which === 'all' ? countOf(chosen.length, 'link') : `Link ${links.key(one, other)}`}: ${effect}.`,
    lookAt: `Gossip is as slow as the link: npx devium watch --rpc ${rpcOf(testnet, other)}`,
  }
}

export const heal: Handler = async (testnet) => {
  const { links } = testnet
  if (!links.isFaulty()) throw new UsageError('heal: no link is cut or slow')
  links.heal()
  const freed = await testnet.blocks.set([])
  await dialAgain(testnet, [...links.joinedPairs(), ...freed])
  return {
    did: 'All peer links work again.',
    lookAt: `Nodes dial each other within five seconds, and their heads agree: npx devium watch --rpc ${rpcOf(testnet, links.names()[0])}`,
  }
}

/** Pairs of connected nodes, according to both sides. A node that does not answer counts as unconnected. */
async function connectedPairs(testnet: CommandedTestnet): Promise<Pair[]> {
  const { links, endpoints } = testnet
  const nameOf = new Map(endpoints.nodes.map(({ name, peerId }) => [peerId, name]))
  const pairs = new Map<string, Pair>()
  for (const name of links.names()) {
    for (const peer of await testnet.clients.peersOf(name).catch(() => [])) {
      const other = nameOf.get(peer)
      if (other === undefined || other === name) continue
      pairs.set(links.key(name, other), links.pair(name, other))
    }
  }
  return [...pairs.values()]
}

/**
 * Connects pairs that do not dial each other by themselves, by their proxies. A closing door cuts the connections that used it.
 */
async function joinPairs(testnet: CommandedTestnet, pairs: readonly Pair[]): Promise<void> {
  const { links } = testnet
  if (!links.isFaulty()) return
  const wanted = pairs.filter(
    ([one, other]) => !links.isKept(one, other) && !links.areParted(one, other) && !isRound(testnet, [one, other]),
  )
  const byKey = new Map(wanted.map((pair) => [links.key(...pair), pair]))
  await Promise.all(
    [...byKey.values()].map(async ([earlier, later]) => {
      const isNew = !links.hasPair(earlier, later)
      const port = await links.joinPair(earlier, later)
      if (isNew) await untilParted(testnet, later, earlier)
      await testnet.connect(later, earlier, port)
    }),
  )
}

/** Pairs that can connect without their link, because one side is a third-party rollup node. */
function pairsRound(testnet: CommandedTestnet): Pair[] {
  const names = testnet.links.names()
  const pairs = names.flatMap((earlier, index) => names.slice(index + 1).map((later): Pair => [earlier, later]))
  return pairs.filter((pair) => isRound(testnet, pair))
}

function isRound(testnet: CommandedTestnet, pair: Pair): boolean {
  return pair.some((name) => hasOtherClient(testnet, name))
}

function hasOtherClient({ endpoints }: CommandedTestnet, name: string): boolean {
  return endpoints.nodes.find((node) => node.name === name)?.clients?.rollup !== undefined
}

/**
 * Reconnects pairs at once: third-party rollup nodes redial only after a minute. A stopped node is skipped, because it dials its
 * peers when it starts.
 */
async function dialAgain(testnet: CommandedTestnet, pairs: readonly Pair[]): Promise<void> {
  const { links } = testnet
  const known = pairs.filter(([one, other]) => links.hasPair(one, other))
  await Promise.allSettled(known.map(([one, other]) => testnet.connect(other, one, links.pairPort(one, other))))
}

async function untilParted(testnet: CommandedTestnet, node: string, other: string): Promise<void> {
  const { peerId } = nodeNamed(testnet, other)
  const deadline = performance.now() + CUT_TIMEOUT_MS
  while ((await testnet.clients.peersOf(node)).includes(peerId)) {
    if (performance.now() > deadline) throw new DeviumError('link', `${node} does not lose ${other}`)
    await delay(POLL_MS)
  }
}

function pairOf(testnet: CommandedTestnet, text: string): Pair {
  const [one = '', other, ...more] = text.split('-')
  if (other === undefined || more.length > 0 || one === other) {
    throw new UsageError(`link: expected two nodes, such as sequencer-verifier1, or all; got "${text}"`)
  }
  for (const name of [one, other]) nodeNamed(testnet, name)
  return testnet.links.pair(one, other)
}

const RATE = /^(\d+(?:\.\d+)?)(B|kB|MB)$/
const RATE_UNITS: Readonly<Record<string, number>> = { B: 1, kB: 1_000, MB: 1_000_000 }
const MAX_DELAY_MS = 60_000
const QUALITY_FORM = 'expected delay=200ms, loss=5% or rate=100kB (a second), with commas between them; or off'

/** Undefined for `off`: the link has no fault. */
function parseQuality(text: string): LinkQuality | undefined {
  if (text === 'off') return undefined
  const quality: LinkQuality = { delayMs: 0 }
  for (const setting of text.split(',')) {
    const [name, value = '', ...more] = setting.split('=')
    if (more.length > 0) throw new UsageError(`link: ${QUALITY_FORM}, got "${setting}"`)
    if (name === 'delay') quality.delayMs = parseDelay(value)
    else if (name === 'loss') quality.loss = parseLoss(value)
    else if (name === 'rate') quality.bytesPerSecond = parseRate(value)
    else throw new UsageError(`link: ${QUALITY_FORM}, got "${setting}"`)
  }
  return quality
}

function parseDelay(text: string): number {
  const ms = parseDurationMs(text)
  if (ms > MAX_DELAY_MS) throw new UsageError(`link: a delay is at most ${MAX_DELAY_MS / 1000}s, got "${text}"`)
  return ms
}

function parseLoss(text: string): number {
  const [, percent] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? []
  if (percent === undefined || Number(percent) > 100)
    throw new UsageError(`link: expected loss=0% to 100%, got "${text}"`)
  return Number(percent) / 100
}

function parseRate(text: string): number {
  const [, amount, unit = ''] = RATE.exec(text) ?? []
  const bytes = Number(amount) * (RATE_UNITS[unit] ?? 0)
  if (amount === undefined || bytes < 1)
    throw new UsageError(`link: expected a rate such as 100kB a second, got "${text}"`)
  return bytes
}

function describeQuality({ delayMs, loss, bytesPerSecond }: LinkQuality): string {
  const parts = [
    ...(delayMs === 0 ? [] : [`${delayMs} ms later each way`]),
    ...(loss === undefined ? [] : [loss === 1 ? 'nothing passes' : `${loss * 100} % of the segments are sent again`]),
    ...(bytesPerSecond === undefined ? [] : [`${bytesPerSecond} bytes a second each way`]),
  ]
  return parts.length === 0 ? 'as fast as the machine' : parts.join(', ')
}

function rpcOf({ endpoints }: CommandedTestnet, node: string | undefined): string {
  return endpoints.nodes.find(({ name }) => name === node)?.rollupRpc ?? ''
}
