import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusOf } from '../../dashboard/statusSentence.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { listen } from '../../src/lib/testUtils/listen.ts'
import { compressSnappy } from '../../src/p2p/base/snappyBlock.ts'
import { blocksTopic } from '../../src/p2p/base/topics.ts'
import { type RawPeer, startRawPeer } from '../../src/p2p/testUtils/rawPeer.ts'
import { CLOSED_PORT } from '../../src/p2p/testUtils/rawServer.ts'
import { signedMessage } from '../../src/p2p/testUtils/signedMessage.ts'
import { testBlock, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { createNodeClient, type NodeMethod } from '../../src/rpc/client/index.ts'
import { findChromium, startChromium } from '../support/chromium.ts'
import { type JoinedNode, type JoinOptions, joinTestnet } from '../support/joinedNode.ts'
import { commandOf, descendantsOf } from '../support/processes.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

/**
 * Faults of a running testnet. One RPC method, `devium status` and the page must each name the cause, and stop when the fault is
 * over. Faults that exist from a node's start are tested on joining nodes.
 */

const chromium = findChromium()
if (chromium === undefined)
  console.warn('No Chromium is installed: the page is not opened, its sentence is made from its data')

const DEVIUM = fileURLToPath(new URL('../../bin/devium.mjs', import.meta.url))
const CLOCK_AHEAD = fileURLToPath(new URL('../support/clockAhead.mjs', import.meta.url))
/**
 * Eight faults take a minute and fourteen programs, too much for each run. test/faultSentences.test.ts tests the sentences alone.
 */
const isWanted = process.env.DEVIUM_NAMED_FAULTS === 'all'
const VERSION = 4
const ABSENT_PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'

let net: RunningTestnet
let browser: Browser | undefined
let page: Page | undefined
const stops: (() => Promise<unknown>)[] = []

interface NodeAddress {
  name: string
  rollupRpc: string
}

async function request(url: string, method: NodeMethod): Promise<unknown> {
  const node = createNodeClient({ url })
  try {
    return await node.transport.request(method, [])
  } finally {
    await node.close()
  }
}

async function l1(method: string, params: unknown[]): Promise<unknown> {
  const client = createPatientClient({ url: net.l1.rpc })
  try {
    return await client.request(method, params)
  } finally {
    await client.close()
  }
}

/** The output of `devium status`, run as a process. */
async function status({ rollupRpc }: NodeAddress): Promise<string> {
  const ended = promisify(execFile)(process.execPath, [DEVIUM, 'status', '--rpc', rollupRpc])
  // The exit code is 3 if a node is not healthy.
  const { stdout } = await ended.catch((error: { stdout?: string }) => error)
  return stdout ?? ''
}

/** The first sentence of the node's page. */
async function headline({ name, rollupRpc }: NodeAddress): Promise<string> {
  if (page !== undefined) return (await page.locator('h1').textContent()) ?? ''
  const [health, batcher] = (await Promise.all([
    request(rollupRpc, 'devium_health'),
    request(rollupRpc, 'devium_batcherStatus'),
  ])) as [never, never]
  const known = { name, connectionState: 'open', lostAtMs: undefined, batcherProblem: undefined } as const
  return statusOf({ ...known, health, batcher }, Date.now()).text
}

/** Expects that the RPC method, `devium status` and the page's first sentence name the cause. */
async function isNamed(node: NodeAddress, method: NodeMethod, cause: RegExp): Promise<void> {
  const rpc = () => request(node.rollupRpc, method).then((answer) => JSON.stringify(answer), String)
  await expect.poll(rpc).toMatch(cause)
  await page?.goto(`${node.rollupRpc}/dashboard`)
  await expect.poll(() => headline(node)).toMatch(cause)
  expect(await status(node)).toMatch(cause)
}

/** Expects that none of them names the cause any more. */
async function isOver(node: NodeAddress, cause: RegExp): Promise<void> {
  await expect.poll(() => headline(node)).not.toMatch(cause)
  await expect.poll(() => status(node)).not.toMatch(cause)
}

async function join_(wanted: JoinOptions): Promise<JoinedNode> {
  const joined = await joinTestnet(net, wanted)
  stops.push(() => joined.stop())
  return joined
}

async function startUnknownPeer(): Promise<RawPeer> {
  const peer = await startRawPeer([blocksTopic(BigInt(net.l2.chainId), VERSION)])
  stops.push(() => peer.stop())
  return peer
}

/** Kills the testnet's process whose command line contains all of these. */
function kill(...parts: string[]): void {
  const [pid] = descendantsOf(net.runner.pid ?? 0)
    .reverse()
    .filter((process) => parts.every((part) => commandOf(process).includes(part)))
  process.kill(pid ?? Number.NaN, 'SIGKILL')
}

async function startAgain(program: string): Promise<void> {
  const hasEnded = () => net.events.some((event) => event.event === 'ended' && event.program === program)
  await expect.poll(hasEnded).toBe(true)
  net.startAgain(program)
}

/** A beacon API without L1's blobs until `remember` is called. */
async function startForgetfulBeacon(): Promise<{ url: string; remember(): void }> {
  let remembers = false
  const remember = (): void => {
    remembers = true
  }
  const server = createServer((request, response) => {
    if (!remembers && request.url?.includes('/blob'))
      return void response.writeHead(404).end('{"code":404,"message":"NOT_FOUND"}')
    fetch(`${net.l1.rpc}${request.url}`)
      .then(async (answer) => response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer())))
      .catch(() => response.destroy())
  })
  const { url, close } = await listen(server)
  stops.push(close)
  return { url, remember }
}

// In this order: faults that end a program come last.
describe.runIf(isWanted)('a testnet', { shuffle: false }, () => {
  /** Nodes with a fault from their start, all at once: gossip faults show after ten seconds. */
  let faulty: { misled: JoinedNode; early: JoinedNode; lonely: JoinedNode; beacon: { remember(): void } }
  let first: NodeAddress
  let last: NodeAddress

  beforeAll(async () => {
    ;[net, browser] = await Promise.all([
      startTestnet({ nodes: 3, args: ['--fail-fast=false', '--da', 'blobs'] }),
      chromium === undefined ? undefined : startChromium(chromium),
    ])
    page = await browser?.newPage()
    const [sequencer] = net.nodes
    const verifier = net.nodes.at(-1)
    if (sequencer === undefined || verifier === undefined) throw new Error('the testnet has no nodes')
    first = sequencer
    last = verifier
    const beacon = await startForgetfulBeacon()
    const closed = `/ip4/127.0.0.1/tcp/${CLOSED_PORT}/p2p/${ABSENT_PEER}`
    const [misled, early, lonely] = await Promise.all([
      join_({ name: 'misled', staticPeers: [] }),
      join_({
        name: 'early',
        staticPeers: [sequencer.p2p],
        env: { NODE_OPTIONS: `--import=${CLOCK_AHEAD}` },
      }),
      join_({ name: 'lonely', staticPeers: [closed], flags: [`--l1.beacon=${beacon.url}`] }),
    ])
    faulty = { misled, early, lonely, beacon }
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all(stops.map((stop) => stop()))
    await net?.stop()
  })

  it('whose node lacks a blob', async () => {
    const cause =
      /waiting for 1 blob of L1 block \d+, which http:\/\/127.0.0.1:\d+ \(HTTP 404[^)]*\) has not returned for \d+ s/i
    await isNamed(faulty.lonely, 'devium_derivationStatus', cause)
    faulty.beacon.remember()
    await isOver(faulty.lonely, cause)
  })

  it('whose node has a static peer behind a closed port', async () => {
    const cause = new RegExp(
      `static peer .*\\(${ABSENT_PEER}: connection refused: .*, but nothing listens on that port`,
      'i',
    )
    await isNamed(faulty.lonely, 'deviump2p_health', cause)
  })

  it('whose sequencer signs with another key than the one on L1', async () => {
    const { misled } = faulty
    const self = () => request(misled.rollupRpc, 'opp2p_self').catch(() => undefined)
    await expect.poll(self).toMatchObject({ peerID: expect.any(String) })
    const { peerID } = (await self()) as { peerID: string }
    const imposter = await startUnknownPeer()
    await imposter.connect(`/ip4/127.0.0.1/tcp/${misled.options.ports.p2p}/p2p/${peerID}`)
    const chainId = BigInt(net.l2.chainId)
    const config = testConfig('isthmus', { l2ChainId: chainId })
    let blockNumber = 0
    const publishing = setInterval(() => {
      const block = testBlock(config, { blockNumber: ++blockNumber })
      const message = compressSnappy(signedMessage(block, VERSION, chainId, new Uint8Array(32).fill(7)))
      void imposter.publish(blocksTopic(chainId, VERSION), message)
    }, 1_000)
    try {
      const cause = /not one of the blocks .*signed by another key than L1's SystemConfig names/i
      await isNamed(misled, 'deviump2p_health', cause)
    } finally {
      clearInterval(publishing)
    }
  })

  it('whose node has a clock ahead of the time', async () => {
    const cause = /not one of the blocks .*\(too-old: \d+\).*, 1\d\d s old. Compare this machine's clock/i
    await isNamed(faulty.early, 'deviump2p_health', cause)
  })

  it('that has banned a peer', async () => {
    const hostile = await startUnknownPeer()
    await hostile.connect(net.nodes[0]?.p2p ?? '')
    let serial = 0
    const bans = async () => {
      const publishing = Array.from({ length: 12 }, () =>
        hostile.publish(blocksTopic(BigInt(net.l2.chainId), VERSION), Buffer.from(`no block ${serial++}`)),
      )
      await Promise.allSettled(publishing)
      return JSON.stringify(await request(first.rollupRpc, 'deviump2p_bans'))
    }
    const cause = /score -\d+.* is below -100: invalid messages/i
    await expect.poll(bans).toMatch(cause)
    expect(await status(first)).toMatch(new RegExp(`banned: …${hostile.peerId.slice(-8)} for .*${cause.source}`))
    await page?.goto(`${first.rollupRpc}/dashboard`)
    const row = page?.locator('.peers tbody tr', { has: page.locator(`[title="${hostile.peerId}"]`) })
    await row?.getByRole('button').click()
    const sheet = page?.locator('#peer')
    if (sheet !== undefined) await expect.poll(() => sheet.textContent()).toMatch(cause)
  })

  it('whose batch submitter has no funds', async () => {
    const { address } = net.batcher
    const balance = await l1('eth_getBalance', [address, 'latest'])
    await l1('anvil_setBalance', [address, '0x0'])
    const cause = /the account 0x[0-9a-f]{40} cannot pay for transaction .*insufficient funds/i
    await isNamed(first, 'devium_batcherStatus', cause)
    await l1('anvil_setBalance', [address, balance])
    await isOver(first, cause)
  })

  it('whose engine has stopped', async () => {
    kill('--authrpc.port', join(net.dir, last.name))
    const cause = /waiting for the execution client: http:\/\/127.0.0.1:\d+\/? has answered no call for \d+ s/i
    await isNamed(last, 'devium_derivationStatus', cause)
    await startAgain(`${last.name}-geth`)
    await isOver(last, cause)
  })

  it('whose L1 has stopped', async () => {
    kill('anvil', `--port ${new URL(net.l1.rpc).port}`)
    const cause = /waiting for L1: http:\/\/127.0.0.1:\d+\/? has answered no call for \d+ s/i
    await isNamed(last, 'devium_derivationStatus', cause)
    await startAgain('l1')
    await isOver(last, cause)
  })
})
