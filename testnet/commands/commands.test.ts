import { expect, it, onTestFinished } from 'vitest'
import { nextTurn } from '../../src/lib/nextTurn.ts'
import { PeerLinks } from '../links/peerLinks.ts'
import type { TestnetEvent } from '../runner/events.ts'
import { createCommands, wordsOf } from './commands.ts'

const node = (name: string, port: number) => ({
  ...{
    name,
    rollupRpc: `http://127.0.0.1:${port}`,
    ethRpc: '',
    ethWs: '',
    engineRpc: '',
    metrics: '',
    gethMetrics: '',
  },
  ...{ p2p: '', peerId: '', jwt: '' },
})

const BATCHER = { adminRpc: 'http://127.0.0.1:9501', metrics: '', address: '0x00' } as const

/** The commands of a testnet with two nodes, whose programs record the calls they get. */
async function commands({ ready = Promise.resolve() } = {}) {
  const names = ['l1', 'sequencer-geth', 'verifier1-geth', 'sequencer-node', 'verifier1-node', 'batcher']
  const ended = new Set<string>()
  const paused = new Set<string>()
  const done: string[] = []
  const notes: string[] = []
  const events: TestnetEvent[] = []
  const programs = {
    names: () => names,
    isRunning: (name: string) => !ended.has(name),
    isPaused: (name: string) => paused.has(name),
    async end(name: string, signal: NodeJS.Signals) {
      ended.add(name)
      done.push(`${signal} ${name}`)
      return true
    },
    setClock: (name: string, aheadMs: number) => void done.push(`clock ${name} ${aheadMs}`),
    pause: (name: string) => void paused.add(name),
    startAgain(name: string) {
      ended.delete(name)
      paused.delete(name)
      done.push(`start ${name}`)
    },
  }
  const endpoints = { nodes: [node('sequencer', 9510), node('verifier1', 9520)], batcher: BATCHER }
  const links = await PeerLinks.open(
    endpoints.nodes.map(({ name }) => ({ name, port: 0 })),
    '127.0.0.1',
  )
  onTestFinished(() => links.close())
  const blocks = { set: async () => [] }
  const connect = async (from: string, to: string) => void done.push(`${from} dials ${to}`)
  const l1Heads = async () => ({ head: 50, finalized: 42 })
  const note = (what: string) => async () => void done.push(what)
  const l1 = {
    stopBlocks: note('no blocks'),
    startBlocks: note('blocks'),
    reorg: async (depth: number) => void done.push(`reorg ${depth}`),
    multiplyBaseFee: async (factor: number) => BigInt(factor * 2e9),
    setBlobs: (mode: string) => void done.push(`blobs ${mode}`),
  }
  const nodes = {
    hostile: {
      start: (kind: string, node: { name: string }) => done.push(`${kind} at ${node.name}`) < 2,
      end: async () => done.length,
    },
    load: {
      ...{ isRunning: true, accepted: 12, refused: 1, stop: async () => {} },
      start: async (perSecond: number, kind: string) => void done.push(`load ${perSecond} ${kind}`),
    },
    sequencer: 'sequencer',
    clients: { note: (text: string) => void notes.push(text), peersOf: async () => [] },
    moveSequencer: async (name: string) => void done.push(`move to ${name}`),
    addNode: async () => 'verifier1',
    removeNode: async (name: string) => void done.push(`remove ${name}`),
    async whileStopped(action: () => unknown, { forgetsData } = { forgetsData: false }) {
      done.push(forgetsData ? 'killed' : 'stopped')
      await action()
      done.push('started')
      return 2_345
    },
    export: async () => '/net/export',
    snapshots: {
      checkNew: () => {},
      async take(name: string) {
        done.push(`copy ${name}`)
        return `/net/snapshots/${name}`
      },
      ageOf: () => 95,
      async prepare(name: string) {
        done.push(`prepare ${name}`)
        return () => void done.push(`put ${name}`)
      },
    },
  }
  const testnet = { da: 'blobs' as const, programs, endpoints, links, blocks, connect, l1, l1Heads, ...nodes }
  const run = createCommands(testnet, (event) => events.push(event), ready)
  return { run: (line: string) => run(wordsOf(line)), done, notes, events, links }
}

it('stops and starts the programs that a word names, and reports where the effect shows', async () => {
  const { run, done, notes, events } = await commands()
  const killed = await run('kill verifier1')
  expect(killed).toEqual({
    command: 'kill verifier1',
    did: 'verifier1-geth and verifier1-node killed.',
    lookAt: 'The other nodes lose a peer: npx devium p2p peers --rpc http://127.0.0.1:9510',
  })
  expect(events).toEqual([{ event: 'command', ...killed }])
  expect(notes).toEqual(['Testnet: kill verifier1.'])
  await expect(run('pause verifier1/geth')).rejects.toThrow('verifier1/geth does not run')
  expect(await run('start  verifier1')).toMatchObject({ did: 'verifier1-geth and verifier1-node started again.' })
  expect(await run('pause sequencer/geth')).toMatchObject({
    lookAt: expect.stringMatching(/waits for its execution client: npx devium derive status --rpc \S+:9510$/),
  })
  await expect(run('pause sequencer/geth')).rejects.toThrow('sequencer/geth is paused already')
  expect(await run('start sequencer')).toMatchObject({ did: 'sequencer-geth continued.' })
  await run('stop sequencer')
  await run('stop l1')
  expect(done).toEqual([
    ...['SIGKILL verifier1-geth', 'SIGKILL verifier1-node', 'start verifier1-geth', 'start verifier1-node'],
    ...['start sequencer-geth', 'SIGTERM sequencer-node', 'SIGINT sequencer-geth', 'SIGINT l1'],
  ])
})

it.each([
  ['kil l1', 'unknown command "kil", did you mean kill? Known are kill, stop, '],
  ['explode', /^unknown command "explode": known are kill, stop, /],
  ['kill', /^kill: expected "kill PROGRAM" \(.*NODE\/geth.*\), got "kill"$/],
  ['kill l1 batcher', /got "kill l1 batcher"$/],
  ['stop verifier2', /there is no program "verifier2": expected .* of sequencer, verifier1; or l1, or batcher/],
  ['stop verifier1/beth', /there is no program "verifier1\/beth"/],
  ['start l1', 'l1 runs already'],
  ['partition verifier9', 'there is no node "verifier9": expected one of sequencer, verifier1'],
  ['partition sequencer|sequencer', 'partition: sequencer is on two sides'],
  ['partition sequencer,verifier1', /expected two sides, got one with all nodes/],
  ['link sequencer delay=1s', 'link: expected two nodes, such as sequencer-verifier1, or all; got "sequencer"'],
  ['link sequencer-sequencer off', /got "sequencer-sequencer"/],
  ['link sequencer-verifier1 speed=1', /^link: expected delay=200ms, loss=5% or rate=100kB .*, got "speed=1"/],
  ['link sequencer-verifier1 delay=1', /expected a duration such as 500ms/],
  ['link sequencer-verifier1 delay=2m', 'link: a delay is at most 60s, got "2m"'],
  ['link sequencer-verifier1 loss=101%', 'link: expected loss=0% to 100%, got "101%"'],
  ['link sequencer-verifier1 rate=0kB', /expected a rate such as 100kB a second, got "0kB"/],
  ['reorg', /^reorg: expected "reorg N"/],
  ['reorg none', 'reorg: expected how many L1 blocks, got "none"'],
  ['reorg 8', 'reorg 8: L1 is at block 50, and block 42 is finalized; expected at most 7'],
  ['l1 fees', 'l1: expected stop, start, or fees x10 (at most x100000), got "fees"'],
  ['l1 fees 10', /got "fees 10"$/],
  ['l1 fees x0', /got "fees x0"$/],
  ['blobs never', 'blobs: expected on, off, lie, got "never"'],
  ['l1 stop now', /got "stop now"$/],
  ['remove-node verifier3', 'there is no node "verifier3": expected one of verifier1'],
  ['remove-node sequencer', 'sequencer makes the blocks: stop it instead'],
  ['add-node verifier3', 'add-node takes no words'],
  ['clock l1', /^clock: expected "clock PROGRAM/],
  ['clock verifier1 soon', /expected a duration such as 500ms/],
  ['clock verifier1 +9000h', 'clock: expected a year at most, got "+9000h"'],
  ['sequencer stop verifier1', 'sequencer: expected "sequencer move NODE", got "sequencer stop"'],
  ['sequencer move sequencer', 'sequencer is the sequencer already'],
  ['sequencer move verifier4', 'there is no node "verifier4": expected one of verifier1'],
  ['load 0', 'load: expected 1 to 1000 transactions a second, and transfers or data; or off; got "0"'],
  ['load 5 calls', /got "5 calls"$/],
  ['load off now', /got "off now"$/],
  ['hostile', /^hostile: expected "hostile KIND/],
  ['hostile bad-rcp', /expected off, or one of garbage, .*; got "bad-rcp"$/],
  ['hostile bad-rpc verifier7', 'there is no node "verifier7": expected one of sequencer, verifier1'],
  ['hostile off', 'hostile: no attack runs'],
  ['heal', 'heal: no link is cut or slow'],
])('refuses "%s"', async (line, message) => {
  const { run, events } = await commands()
  await expect(run(line)).rejects.toThrow(message)
  expect(events).toEqual([])
})

it('partitions named and unnamed nodes, and reports the new state of a link', async () => {
  const { run, links, done } = await commands()
  const parted = await run('partition verifier1')
  expect(parted).toMatchObject({
    did: 'The network is partitioned: verifier1 | sequencer.',
    lookAt: expect.stringContaining(':9520'),
  })
  expect(links.areParted('sequencer', 'verifier1')).toBe(true)
  await run('heal')
  expect(links.isFaulty()).toBe(false)
  expect(await run('link verifier1-sequencer delay=200ms,loss=5%,rate=100kB')).toMatchObject({
    did: 'Link sequencer-verifier1: 200 ms later each way, 5 % of the segments are sent again, 100000 bytes a second each way.',
  })
  // In this test these two nodes do not dial each other by themselves.
  expect(done).toEqual(['verifier1 dials sequencer'])
  expect(await run('link sequencer-verifier1 off')).toMatchObject({ did: 'Link sequencer-verifier1: whole again.' })
})

it('sets clocks', async () => {
  const { run, done } = await commands()
  expect(await run('clock verifier1 -1m30s')).toMatchObject({
    did: "verifier1-geth and verifier1-node are 90s behind the machine's clock.",
  })
  expect(await run('clock batcher +2s')).toMatchObject({ did: "batcher is 2s ahead of the machine's clock." })
  expect(await run('clock batcher 0')).toMatchObject({
    did: 'batcher is on time again.',
    lookAt: 'Heads catch up: npx devium status --rpc http://127.0.0.1:9510',
  })
  expect(done).toEqual([
    ...['clock verifier1-geth -90000', 'clock verifier1-node -90000', 'clock batcher 2000', 'clock batcher 0'],
  ])
})

it('starts hostile peers', async () => {
  const { run, done } = await commands()
  expect(await run('hostile bad-rpc verifier1')).toMatchObject({
    did: 'A hostile peer attacks verifier1 with bad-rpc. It returns with a new identity whenever it is dropped.',
    lookAt: expect.stringContaining(':9520'),
  })
  await expect(run('hostile garbage')).rejects.toThrow('garbage at sequencer is running already')
  expect(done).toEqual(['bad-rpc at verifier1', 'garbage at sequencer'])
  expect(await run('hostile off')).toMatchObject({ did: '2 attacks ended.' })
})

it('loads the chain', async () => {
  const { run, done } = await commands()
  expect(await run('load 20')).toMatchObject({ did: '20 transactions a second (transfers) go to the sequencer.' })
  await run('load 5 data')
  expect(await run('load off')).toMatchObject({ did: 'The load ended: 12 transactions taken, 1 refused.' })
  expect(done).toEqual(['load 20 transfers', 'load 5 data'])
})

it('changes L1', async () => {
  const { run, done } = await commands()
  expect(await run('reorg 7')).toMatchObject({
    did: "Empty blocks replaced L1's last 7 blocks, from block 44 on.",
  })
  expect(await run('l1 fees x10')).toMatchObject({ did: expect.stringContaining("L1's next block is 20 gwei") })
  await run('l1 stop')
  await run('l1 start')
  expect(await run('blobs lie')).toMatchObject({ lookAt: expect.stringContaining('derive status') })
  expect(done).toEqual(['reorg 7', 'no blocks', 'blocks', 'blobs lie'])
})

it('runs commands only after the testnet is ready', async () => {
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const { run, done } = await commands({ ready })
  const running = run('stop l1')
  await nextTurn()
  expect(done).toEqual([])
  resolve()
  await running
  expect(done).toEqual(['SIGINT l1'])
})

it('runs one command at a time', async () => {
  const { run, done } = await commands()
  await Promise.allSettled([run('stop l1'), run('explode'), run('start l1')])
  expect(done).toEqual(['SIGINT l1', 'start l1'])
})

it('takes no snapshot while L1 is stopped', async () => {
  const { run, done } = await commands()
  await run('stop l1')
  await expect(run('snapshot base')).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('testnet start l1'),
  })
  expect(done).toEqual(['SIGINT l1'])
})

it('takes a snapshot while programs are stopped, and prepares a restore before it kills them', async () => {
  const { run, done } = await commands()
  expect(await run('snapshot base')).toMatchObject({
    did: '/net/snapshots/base has all data of L1 and of the nodes. The programs were stopped for 2.3 s.',
  })
  expect(await run('restore base')).toMatchObject({
    did: 'All programs continue from base, taken 95s ago. They were stopped for 2.3 s.',
  })
  expect(done).toEqual(['stopped', 'copy base', 'started', 'prepare base', 'killed', 'put base', 'started'])
})
