import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import type { TestnetEvent } from '../../testnet/runner/events.ts'
import { commandOf, descendantsOf, isAlive } from '../support/processes.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

const MAIN = fileURLToPath(new URL('../../testnet/main.ts', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'devium-runner-'))
const dir = join(directory, 'net')
let testnet: RunningTestnet | undefined
afterAll(async () => {
  await testnet?.stop()
  rmSync(directory, { recursive: true, force: true })
})

async function start(args: string[] = []): Promise<{ net: RunningTestnet; processes: number[] }> {
  testnet = await startTestnet({ dir, nodes: 1, args })
  const processes = descendantsOf(testnet.runner.pid ?? 0)
  // Anvil and its leash, the node's two programs, and the batch submitter.
  expect(processes.length).toBeGreaterThanOrEqual(5)
  return { net: testnet, processes }
}

interface Block {
  number: string
  hash: string
  transactions: string[]
}

async function safeBlock(net: RunningTestnet, number?: string): Promise<Block> {
  const client = createPatientClient({ url: net.nodes[0]?.ethRpc ?? '' })
  try {
    return (await client.request('eth_getBlockByNumber', [number ?? 'safe', false])) as Block
  } finally {
    await client.close()
  }
}

const allGone = (processes: readonly number[]) => expect.poll(() => processes.filter(isAlive)).toEqual([])

it('stops in order at an interrupt during the start', async () => {
  const args = ['--disable-warning=ExperimentalWarning', MAIN, '--json', '--base-port=0', '--nodes=1']
  const runner = spawn(process.execPath, [...args, `--dir=${join(directory, 'interrupted')}`])
  onTestFinished(() => void runner.kill('SIGKILL'))
  const exited = once(runner, 'exit')
  const events: TestnetEvent[] = []
  for await (const line of createInterface({ input: runner.stdout })) {
    const event = JSON.parse(line) as TestnetEvent
    events.push(event)
    if (event.event === 'progress' && event.what === 'sequencer answers') runner.kill('SIGINT')
  }
  expect(await exited).toEqual([0, null])
  expect(events.at(-1)).toEqual({ event: 'stopped' })
  expect(events.map(({ event }) => event)).not.toContain('ready')
})

// In this order on one directory: each start continues the chain of the failure before.
describe('the runner', { shuffle: false }, () => {
  let before: Block

  it('stops everything and reports why when a program crashes', async () => {
    const { net, processes } = await start(['--fork', 'jovian'])
    before = await safeBlock(net)
    let stderr = ''
    net.runner.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    const [geth] = processes.filter((pid) => commandOf(pid).includes('--authrpc.port'))
    process.kill(geth ?? 0, 'SIGKILL')
    expect(await net.exited).toBe(1)
    expect(stderr).toMatch(/sequencer-geth ended unexpectedly with signal SIGKILL/)
    expect(stderr).toMatch(/the last lines of .*sequencer-geth.log:\n {4}\S/)
    expect(net.events.at(-1)).toEqual({ event: 'stopped' })
    await allGone(processes)
  })

  it('adds a fork to a kept chain, and leaves no program behind when it is killed', async () => {
    const { net, processes } = await start(['--fork-at', 'karst:2'])
    expect((await safeBlock(net, before.number)).hash).toBe(before.hash)
    const activation = () => net.events.flatMap((event) => (event.event === 'fork' ? [event] : []))
    await expect.poll(activation).toMatchObject([{ fork: 'karst' }])
    const number = `0x${activation()[0]?.block.toString(16)}`
    const safe = async () => Number((await safeBlock(net)).number)
    await expect.poll(safe).toBeGreaterThanOrEqual(Number(number))
    expect((await safeBlock(net, number)).transactions).toHaveLength(1 + 31)
    net.runner.kill('SIGKILL')
    await allGone(processes)
  })

  it('ends at once at the second interrupt, and leaves nothing behind', async () => {
    // The same command line again: the fork is already active.
    const { net, processes } = await start(['--fork-at', 'karst:2'])
    expect((await safeBlock(net, before.number)).hash).toBe(before.hash)
    // A paused program would delay an orderly stop.
    const [geth] = processes.filter((pid) => commandOf(pid).includes('--authrpc.port'))
    process.kill(geth ?? 0, 'SIGSTOP')
    const interruptedAtMs = Date.now()
    net.runner.kill('SIGINT')
    await expect.poll(() => net.events.map(({ event }) => event)).toContain('stopping')
    // An earlier interrupt would count as the same key press.
    await delay(400)
    net.runner.kill('SIGINT')
    expect(await net.exited).toBe(130)
    await allGone(processes)
    expect(existsSync(join(dir, 'runner.pid'))).toBe(false)
    // L1 has written its state even then.
    expect(statSync(join(dir, 'l1', 'state.new.json')).mtimeMs).toBeGreaterThan(interruptedAtMs)
  })
})
