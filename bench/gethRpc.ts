import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { envelopeOfBlock } from '../src/execution/chain/storage/blockFile.ts'
import { encodeBlock } from '../src/execution/index.ts'
import { BlockDriver } from '../src/execution/testUtils/blockDriver.ts'
import { startExecutionNode } from '../src/execution/testUtils/executionNode.ts'
import { loadRecordedRpc } from '../src/execution/testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../src/execution/testUtils/signTransaction.ts'
import { systemClock } from '../src/lib/clock.ts'
import { fromHex, type Hex } from '../src/lib/hex.ts'
import { parseRollupConfig } from '../src/rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../src/rollup/protocol/types.ts'
import { claimPort } from '../test/support/programs.ts'
import { type EngineProgram, startOwn, startReference } from './engineProgram.ts'
import { median } from './figures.ts'

// Calls a second of devium-geth with one and with two RPC processes, and of op-geth on two cores if DEVIUM_OP_GETH is set. Rounds
// alternate, and medians count. Run: npm run bench:geth-rpc [SECONDS_EACH [ROUNDS]].

const [seconds = 4, rounds = 3] = process.argv.slice(2).map(Number)
const CONNECTIONS = 8
const BLOCKS = 100
/** Emits 20 logs. */
const LOGS = fromHex('0x60145b60006000a060019003806002575000')
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
/** Counts to 3,000. */
const LOOP: Hex = '0x610bb85b600190038060035700'
const CALLS: Record<string, object> = {
  eth_blockNumber: { method: 'eth_blockNumber', params: [] },
  'eth_getBlockByNumber, whole': { method: 'eth_getBlockByNumber', params: ['0x10', true] },
  'eth_call, small': { method: 'eth_call', params: [{ to: NOBODY }, 'latest'] },
  'eth_call of 75,000 gas': { method: 'eth_call', params: [{ to: NOBODY }, 'latest', { [NOBODY]: { code: LOOP } }] },
  'eth_getLogs of 100 blocks': { method: 'eth_getLogs', params: [{ fromBlock: '0x1', toBlock: '0x64' }] },
}

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
const blocks = await makeBlocks()
const results = new Map<string, Map<string, number[]>>()
for (let round = 0; round < rounds; round++) {
  for (const [name, start] of programs()) {
    const port = await claimPort()
    const program = await start(['--http', `--http.port=${port}`])
    if (program === undefined) continue
    await program.secondsFor(blocks)
    for (const [call, body] of Object.entries(CALLS)) {
      await callsASecond(port, body, 1)
      const figures = results.get(call) ?? new Map<string, number[]>()
      results.set(call, figures.set(name, [...(figures.get(name) ?? []), await callsASecond(port, body, seconds)]))
    }
    await program.stop()
  }
}
const names = programs().map(([name]) => name)
console.log(`${'calls a second'.padEnd(32)}${names.map((name) => name.padStart(16)).join('')}   2 of 1`)
for (const [call, figures] of results) {
  const medians = names.map((name) => median(figures.get(name) ?? []))
  const ratio = (medians[1] ?? 0) / (medians[0] ?? 1)
  console.log(
    `${call.padEnd(32)}${medians.map((figure) => figure.toFixed(0).padStart(16)).join('')}   ${ratio.toFixed(2)}`,
  )
}

function programs(): [string, (flags: string[]) => Promise<EngineProgram | undefined>][] {
  const config = parseRollupConfig(rollup)
  return [
    ['1 RPC process', (flags) => startOwn(genesis, config, [...flags, '--rpc.workers=1'])],
    ['2 RPC processes', (flags) => startOwn(genesis, config, [...flags, '--rpc.workers=2'])],
    ['op-geth', (flags) => startReference(genesis, config, flags, 2)],
  ]
}

async function makeBlocks(): Promise<{ envelope: PayloadEnvelope }[]> {
  const node = await startExecutionNode(genesis, { clock: systemClock })
  const driver = new BlockDriver(node.engine, rollup)
  const made = []
  for (let nonce = 0; nonce < BLOCKS; nonce++) {
    const { raw } = signTransaction(DEV_KEYS[0], { nonce, to: null, data: LOGS, gasLimit: 200_000n })
    await driver.build({ transactions: [raw], noTxPool: true })
    const block = await node.chain.blockByHash(node.chain.head().hash)
    if (block !== undefined) made.push({ envelope: envelopeOfBlock(encodeBlock(block)) })
  }
  await node.close()
  return made
}

async function callsASecond(port: number, body: object, during: number): Promise<number> {
  const dispatcher = new Agent({ connections: CONNECTIONS })
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...body })
  let answered = 0
  let isOver = false
  const client = async () => {
    while (!isOver) {
      const { body: answer } = await request(`http://127.0.0.1:${port}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: text,
        dispatcher,
      })
      const received = await answer.text()
      if (received.includes('"error"')) throw new Error(received.slice(0, 200))
      answered++
    }
  }
  const clients = Promise.all(Array.from({ length: CONNECTIONS }, client))
  const startedAt = performance.now()
  await Promise.race([delay(during * 1_000), clients])
  isOver = true
  const figure = (answered / (performance.now() - startedAt)) * 1_000
  await clients
  await dispatcher.close()
  return figure
}
