import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Hex } from '../../src/lib/hex.ts'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import { payloadFromJson, payloadToJson } from '../../src/rollup/protocol/index.ts'
import type { ExecutionPayloadJson } from '../../src/rollup/protocol/payload/payloadJson.ts'
import type { PayloadEnvelope } from '../../src/rollup/protocol/types.ts'

/** As the peer's own `config` has them. */
export interface GoPeerConfig {
  key: Hex
  port: number
  userAgent: string
  chainId: number
  signer: Hex
  lazy: boolean
  scoring: 'none' | 'global' | 'silent-topic'
  spellings: ('' | '/')[]
  discovery?: { bootnodes: string[]; dial: boolean }
}

/** One line of the peer that is no reply; the members beside `event` depend on it. */
export interface GoPeerEvent {
  event: string
  peer?: string
  topic?: string
  version?: number
  messageId?: Hex
  data?: Hex
  ids?: Hex[]
  inbound?: boolean
  userAgent?: string
  protocols?: string[]
  addresses?: string[]
  address?: string
  record?: string
  protocol?: string
  number?: number
  error?: string
  block?: EnvelopeJson
}

export interface EnvelopeJson {
  parentBeaconBlockRoot?: Hex
  payload: ExecutionPayloadJson
}

export function envelopeToJson({ parentBeaconBlockRoot, payload }: PayloadEnvelope): EnvelopeJson {
  const json = { payload: payloadToJson(payload) }
  return parentBeaconBlockRoot === undefined ? json : { parentBeaconBlockRoot, ...json }
}

export function envelopeFromJson({ parentBeaconBlockRoot, payload }: EnvelopeJson): PayloadEnvelope {
  const envelope = { payload: payloadFromJson(payload) }
  return parentBeaconBlockRoot === undefined ? envelope : { parentBeaconBlockRoot, ...envelope }
}

export interface BlockAnswer {
  code: number
  version: number
  block: EnvelopeJson | null
}

export type Publication = { version: number } & (
  | { block: EnvelopeJson; key: Hex; spoil?: 'recovery' | 'r' }
  | { body: Hex; key: Hex }
  | { raw: Hex }
)

/** On a machine that is busy with other things a process may take half of that to start. */

/** A peer of go-libp2p in a process of its own. */
export interface GoPeer {
  readonly peerId: string
  /** `/ip4/127.0.0.1/tcp/…/p2p/…` */
  readonly address: string
  /** ENR text, empty without discovery. */
  readonly record: string
  readonly events: readonly GoPeerEvent[]
  /** The first event of this kind that fits, past or to come; fails after a minute. */
  event(kind: string, fits?: (event: GoPeerEvent) => boolean): Promise<GoPeerEvent>
  connect(address: string): Promise<void>
  /** The id under which it travels. */
  publish(what: Publication): Promise<Hex>
  serve(blocks: readonly PayloadEnvelope[]): Promise<void>
  request(question: { peer: string; number: number; spelling: '' | '/'; container: number }): Promise<BlockAnswer>
  scores(): Promise<Record<string, { total: number; behaviourPenalty: number }>>
  /** At once, as in a crash. */
  kill(): Promise<void>
}

interface Waiter {
  kind: string
  fits(event: GoPeerEvent): boolean
  resolve(event: GoPeerEvent): void
}

export async function startGoPeer(path: string, config: GoPeerConfig): Promise<GoPeer> {
  const child = spawn(path, [JSON.stringify(config)], { stdio: ['pipe', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString()
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const events: GoPeerEvent[] = []
  const waiters = new Set<Waiter>()
  const replies = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()

  createInterface({ input: child.stdout }).on('line', (line) => {
    const message: GoPeerEvent & { reply?: number; value?: unknown } = JSON.parse(line)
    if (message.reply !== undefined) {
      const waiting = replies.get(message.reply)
      replies.delete(message.reply)
      if (message.error === undefined) waiting?.resolve(message.value)
      else waiting?.reject(new Error(message.error))
      return
    }
    events.push(message)
    for (const waiter of waiters) {
      if (waiter.kind === message.event && waiter.fits(message)) waiter.resolve(message)
    }
  })
  void exited.then(() => {
    for (const { reject } of replies.values()) reject(new Error(`the Go peer has ended: ${complaints}`))
  })

  const event: GoPeer['event'] = (kind, fits = () => true) => {
    const past = events.find((known) => known.event === kind && fits(known))
    if (past !== undefined) return Promise.resolve(past)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        kind,
        fits,
        resolve(found) {
          clearTimeout(timer)
          waiters.delete(waiter)
          resolve(found)
        },
      }
      const timer = setTimeout(() => {
        waiters.delete(waiter)
        const seen = events.slice(-12).map((known) => JSON.stringify(known).slice(0, 200))
        reject(new Error(`no event "${kind}" of the Go peer; last: ${seen.join('\n')} ${complaints}`))
      }, WAIT_LIMIT_MS)
      waiters.add(waiter)
    })
  }
  let commands = 0
  const run = (name: string, args: unknown = {}): Promise<unknown> => {
    const id = ++commands
    const reply = new Promise<unknown>((resolve, reject) => replies.set(id, { resolve, reject }))
    child.stdin.write(`${JSON.stringify({ id, do: name, with: args })}\n`)
    return reply
  }
  const ready = await event('ready').catch(async (error: unknown) => {
    await kill(child, exited)
    throw error
  })
  return {
    peerId: ready.peer ?? '',
    address: ready.address ?? '',
    record: ready.record ?? '',
    events,
    event,
    connect: async (address) => void (await run('connect', { address })),
    publish: async (what) => (await run('publish', what)) as Hex,
    serve: async (blocks) => void (await run('serve', blocks.map(envelopeToJson))),
    request: async (question) => (await run('ask', question)) as BlockAnswer,
    scores: async () => (await run('scores')) as Awaited<ReturnType<GoPeer['scores']>>,
    kill: () => kill(child, exited),
  }
}

async function kill(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill('SIGKILL')
  await exited
}
