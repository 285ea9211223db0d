import { connect, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { listen } from '../../src/lib/testUtils/listen.ts'
import { PeerLinks } from './peerLinks.ts'
import { retransmissionMs } from './tcpProxy.ts'

/** A server that sends its name, then echoes. */
async function listener(name: string): Promise<{ name: string; port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(name)
    socket.pipe(socket)
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  return { name, port }
}

async function linksOf(...names: string[]): Promise<PeerLinks> {
  const links = await PeerLinks.open(await Promise.all(names.map(listener)), '127.0.0.1')
  onTestFinished(() => links.close())
  return links
}

/** `first` resolves to the first bytes, or to `cut`. */
function dial(port: number): { socket: Socket; first: Promise<string>; ended: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  const ended = new Promise<string>((resolve) => socket.once('error', () => resolve('cut')))
  const data = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes))))
  return { socket, first: Promise.race([data, ended]), ended }
}

it("proxies the later node of a pair to the earlier, and a door's clients to its node", async () => {
  const links = await linksOf('sequencer', 'verifier1', 'verifier2')
  expect(await links.openPair('verifier2', 'verifier1')).toBe(await links.openPair('verifier1', 'verifier2'))
  expect(await dial(links.pairPort('verifier1', 'verifier2')).first).toBe('verifier1')
  expect(await dial(links.doorPort('verifier2')).first).toBe('verifier2')
})

it('partitions sides, closes the doors, and heals', async () => {
  const links = await linksOf('sequencer', 'verifier1', 'verifier2')
  for (const [one, other] of [
    ['sequencer', 'verifier1'],
    ['sequencer', 'verifier2'],
  ] as const) {
    await links.openPair(one, other)
  }
  const across = dial(links.pairPort('sequencer', 'verifier2'))
  const within = dial(links.pairPort('sequencer', 'verifier1'))
  const discovered = dial(links.doorPort('sequencer'))
  await Promise.all([across.first, within.first, discovered.first])
  links.part([['sequencer', 'verifier1'], ['verifier2']])
  expect(await Promise.all([across.ended, discovered.ended])).toEqual(['cut', 'cut'])
  expect(await dial(links.pairPort('sequencer', 'verifier2')).first).toBe('cut')
  expect(await dial(links.doorPort('verifier2')).first).toBe('cut')
  expect(within.socket.destroyed).toBe(false)
  expect(await dial(await links.openPair('verifier1', 'verifier2')).first).toBe('cut')
  links.heal()
  expect(await dial(links.pairPort('sequencer', 'verifier2')).first).toBe('sequencer')
  expect(await dial(links.doorPort('verifier2')).first).toBe('verifier2')
})

it('passes nothing through a link that loses all, and everything after the fault ends', async () => {
  const links = await linksOf('sequencer', 'verifier1')
  const port = await links.openPair('sequencer', 'verifier1')
  links.set('verifier1', 'sequencer', { delayMs: 0, loss: 1 })
  const silent = dial(port)
  await new Promise((resolve) => silent.socket.once('connect', resolve))
  let isAnswered = false
  void silent.first.then(() => {
    isAnswered = true
  })
  // Bytes have made a round trip on another link in the meantime.
  const other = await linksOf('other', 'one')
  expect(await dial(await other.openPair('other', 'one')).first).toBe('other')
  expect(isAnswered).toBe(false)
  links.set('verifier1', 'sequencer', undefined)
  expect(await silent.first).toBe('sequencer')
  expect(links.isFaulty()).toBe(false)
})

it.each([
  { id: 'nothing lost', draws: [0.5], bytes: 1_000, ms: 0 },
  { id: 'one segment once', draws: [0.04, 0.5], bytes: 1_000, ms: 200 },
  { id: 'the same segment twice', draws: [0.04, 0.01, 0.5], bytes: 1_000, ms: 600 },
  { id: 'two segments at the same time', draws: [0.04, 0.5, 0.04, 0.5], bytes: 2_000, ms: 200 },
  { id: 'at most six times', draws: Array<number>(7).fill(0), bytes: 1_000, ms: 12_600 },
])('a lost segment arrives later: $id', ({ draws, bytes, ms }) => {
  const rest = [...draws]
  expect(retransmissionMs(bytes, 0.05, () => rest.shift() ?? 0.5)).toBe(ms)
})
