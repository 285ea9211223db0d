/**
 * Sends random and mutated requests, bodies and WebSocket frames to every RPC port of a testnet's sequencer and batch submitter.
 * The WebSocket of another execution client gets them too. Prints the faults: crashes, responses 5xx, and responses that are not
 * JSON-RPC. The same seed makes the same requests.
 *
 *   node bench/mutatedRequests.ts [--count=100000] [--seed=1]
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRpcClient } from '../src/jsonRpc/client.ts'
import { startDeviumGeth } from '../test/support/deviumGeth.ts'
import { ownFaults, sendMutated, targetsOf } from '../test/support/mutatedRequests/run.ts'
import { stopPrograms } from '../test/support/programs.ts'
import { startTestnet } from '../test/support/testnet.ts'

const ROUND = 1_000
const SHOWN = 20

const { values } = parseArgs({
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
})
const count = Number(values.count)
const seed = Number(values.seed)
const testnet = await startTestnet({ nodes: 1 })
let faults = 0
try {
  const directory = join(testnet.dir, 'second')
  mkdirSync(directory)
  const geth = await startDeviumGeth(testnet.joinDir, directory)
  await untilItAnswers(geth.rpcUrl)
  const targets = await targetsOf(testnet, geth.rpcUrl)
  for (let sent = 0; sent < count; ) {
    const began = performance.now()
    const wanted = Math.min(ROUND, count - sent)
    const findings = await sendMutated(targets, wanted, seed + sent)
    sent += wanted
    faults += findings.length
    for (const finding of findings.slice(0, SHOWN)) console.log(JSON.stringify(finding))
    const seconds = ((performance.now() - began) / 1_000).toFixed(1)
    console.log(`${sent} sent, ${findings.length} faults in this round of ${seconds} s`)
  }
  for (const { url } of targets) await untilItAnswers(url)
  const ended = testnet.events.filter(({ event }) => event === 'warning').map((event) => JSON.stringify(event))
  const lines = [...ended, ...ownFaults(testnet)]
  faults += lines.length
  for (const line of lines.slice(0, SHOWN)) console.log(line)
  console.log(`${count} sent with seed ${seed} to ${targets.length} ports: ${faults} faults`)
} finally {
  await stopPrograms()
  await testnet.stop()
}
process.exitCode = faults === 0 ? 0 : 1

/** A refusal counts as a response. */
async function untilItAnswers(url: string): Promise<void> {
  const client = createRpcClient({ url })
  try {
    for (let tries = 0; ; tries++) {
      try {
        await client.request('rpc_modules', [])
        return
      } catch (error) {
        if (error instanceof Error && error.name === 'JsonRpcError') return
        if (/401/.test(String(error))) return
        if (tries === 100) throw error
        await delay(200)
      }
    }
  } finally {
    await client.close()
  }
}
