import { expect, it } from 'vitest'
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

/** The programs of a testnet of two nodes, which note what is done to them. */
function commands() {
  const names = ['l1', 'sequencer-geth', 'verifier1-geth', 'sequencer-node', 'verifier1-node', 'batcher']
  const ended = new Set<string>()
  const paused = new Set<string>()
  const done: string[] = []
  const events: TestnetEvent[] = []
  const programs = {
    names: () => names,
    isRunning: (name: string) => !ended.has(name),
    isPaused: (name: string) => paused.has(name),
    async end(name: string, signal: NodeJS.Signals) {
      ended.add(name)
      done.push(`${signal} ${name}`)
    },
    pause: (name: string) => void paused.add(name),
    startAgain(name: string) {
      ended.delete(name)
      paused.delete(name)
      done.push(`start ${name}`)
    },
  }
  const endpoints = { nodes: [node('sequencer', 9510), node('verifier1', 9520)] }
  const run = createCommands({ programs, endpoints }, (event) => events.push(event))
  return { run: (line: string) => run(wordsOf(line)), done, events }
}

it('ends and starts the programs that a word stands for, and says where to look', async () => {
  const { run, done, events } = commands()
  const killed = await run('kill verifier1')
  expect(killed).toEqual({
    command: 'kill verifier1',
    did: 'verifier1-geth and verifier1-node killed.',
    lookAt: 'The other nodes lose a peer: npx devium p2p peers --rpc http://127.0.0.1:9510',
  })
  expect(events).toEqual([{ event: 'command', ...killed }])
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
  ['kil l1', 'unknown command "kil": did you mean kill?'],
  ['explode', /^unknown command "explode": expected one of kill, stop, /],
  ['kill', /^kill: expected "kill PROGRAM" \(.*NODE\/geth.*\), got "kill"$/],
  ['kill l1 batcher', /got "kill l1 batcher"$/],
  ['stop verifier2', /there is no program "verifier2": expected .* of sequencer, verifier1; or l1, or batcher/],
  ['stop verifier1/beth', /there is no program "verifier1\/beth"/],
  ['start l1', 'l1 has not ended, and is not paused'],
])('refuses "%s"', async (line, message) => {
  const { run, events } = commands()
  await expect(run(line)).rejects.toThrow(message)
  expect(events).toEqual([])
})

it('follows one command at a time', async () => {
  const { run, done } = commands()
  await Promise.allSettled([run('stop l1'), run('explode'), run('start l1')])
  expect(done).toEqual(['SIGINT l1', 'start l1'])
})
