import { beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../jsonRpc/server.ts'
import { runCommand } from '../testUtils/runCommand.ts'
import { createDeviumCommand } from './deviumCommand.ts'

const HASH = `0x${'ab'.repeat(32)}`

const calls: unknown[][] = []
let isActive = false
const note =
  (name: string, act: (params: readonly unknown[]) => unknown): RpcHandler =>
  (params) => {
    calls.push([name, ...params])
    return act(params)
  }
const health = () => {
  const [state, why] = isActive
    ? ['healthy', 'It sealed block 7.']
    : ['stopped', 'An operator has stopped the sequencer.']
  return {
    ...{ state, ok: isActive, sinceMs: 0, text: `Sequencer is ${state}. ${why}` },
    causes: isActive ? [] : [{ code: 'sequencer-stopped', text: why, sinceMs: 0, command: 'devium sequencer start' }],
    node: { name: null, role: 'sequencer', version: 'v1', chainId: '901', network: null, peerID: null },
    sequencer: { active: isActive, conductor: false },
  }
}
const METHODS: [string, RpcHandler][] = [
  ['devium_health', health],
  ['devium_syncStatus', () => ({ unsafe_l2: { number: 7, hash: HASH } })],
  [
    'admin_startSequencer',
    note('start', () => {
      isActive = true
      return null
    }),
  ],
  ['admin_stopSequencer', note('stop', () => HASH)],
  ['admin_startBatcher', note('startBatcher', () => null)],
  ['admin_stopBatcher', note('stopBatcher', () => null)],
  ['admin_flushBatcher', note('flushBatcher', () => null)],
]

async function serve(methods: [string, RpcHandler][]) {
  const dispatcher = createRpcDispatcher({ methods: new Map(methods) })
  return serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
}
let url = ''
beforeAll(async () => {
  const server = await serve(METHODS)
  url = server.url
  return () => server.close()
})
beforeEach(() => {
  calls.length = 0
  isActive = false
})

const run = (words: string, at = url) => runCommand(createDeviumCommand, [...words.split(' '), '--rpc', at])
const devium = async (words: string) => (await run(words)).stdout

it('starts and stops the sequencer, and shows whether it is active', async () => {
  expect(await devium('sequencer status')).toBe(
    `Sequencer is stopped. An operator has stopped the sequencer.\n  → devium sequencer start --rpc ${url}\n\nUnsafe head 7 ${HASH}\n`,
  )
  expect(await devium(`sequencer start ${HASH}`)).toBe('the sequencer is started\n')
  expect(await devium('sequencer status')).toBe(`Sequencer is healthy. It sealed block 7.\n\nUnsafe head 7 ${HASH}\n`)
  expect(JSON.parse(await devium('sequencer status --json'))).toMatchObject({ active: true, health: { ok: true } })
  expect(await devium('sequencer stop')).toBe(`${HASH}\n`)
  expect(calls).toEqual([['start', HASH], ['stop']])
})

it('starts, stops and flushes the batch submitter', async () => {
  await devium('batcher start')
  await devium('batcher flush')
  expect(await devium('batcher stop')).toMatch(/^stopped/)
  expect(calls).toEqual([['startBatcher'], ['flushBatcher'], ['stopBatcher']])
})

it('names the missing flag if admin methods are not served', async () => {
  const server = await serve([])
  onTestFinished(server.close)
  expect(await run('sequencer stop', server.url)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/admin_stopSequencer.*runs without --rpc\.enable-admin\n$/),
  })
})
