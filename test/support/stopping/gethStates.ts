import { BlockDriver, forkchoice } from '../../../src/execution/testUtils/blockDriver.ts'
import { pairingLoop } from '../../../src/execution/testUtils/pairingLoop.ts'
import { loadRecordedRpc } from '../../../src/execution/testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../../../src/execution/testUtils/signTransaction.ts'
import type { RpcClient } from '../../../src/jsonRpc/client.ts'
import { toHex } from '../../../src/lib/hex.ts'
import { payloadBlockHash, payloadFromJson, payloadToJson } from '../../../src/rollup/protocol/index.ts'
import { type ExecutionPayload, ZERO_HASH } from '../../../src/rollup/protocol/types.ts'
import type { StopState } from './states.ts'
import type { RunningGeth, World } from './world.ts'

// States of devium-geth in which it receives the stop signal.

const RECORDING = '2026-holocene-isthmus-jovian-calldata'
/** Address of genesis code that runs until its gas is used, longer than any test. */
const LOOP = '0x00000000000000000000000000000000000f1009'

const MANY_GAS = '0x1000000000'

interface GethSetup {
  geth: RunningGeth
  driver: BlockDriver
}

/** A genesis with a slow contract. */
export function loadLoopGenesis() {
  const { genesis, rollup } = loadRecordedRpc(RECORDING)
  const alloc = { ...(genesis.alloc as object), [LOOP]: { code: pairingLoop(), balance: '0x0' } }
  return { genesis: { ...genesis, config: genesis.config as object, alloc }, rollup }
}

async function startGeth(world: World, args: readonly string[] = []): Promise<GethSetup> {
  const { genesis, rollup } = loadLoopGenesis()
  const geth = await world.geth(genesis, args)
  return { geth, driver: new BlockDriver(geth.engine, rollup) }
}

/** A transaction that calls it. 29 million gas take a second. */
export function loopTransaction(
  { config }: Pick<BlockDriver, 'config'>,
  { gasLimit = 60_000_000_000n, nonce = 0 } = {},
): Uint8Array {
  return signTransaction(DEV_KEYS[0], { chainId: config.l2ChainId, to: LOOP, gasLimit, nonce }).raw
}

/** A block that turns out to be invalid only after its execution. */
export async function endlessBlock(engine: Pick<RpcClient, 'request'>, driver: BlockDriver): Promise<ExecutionPayload> {
  const id = await driver.start({ noTxPool: true })
  const built = (await engine.request('engine_getPayloadV3', [id])) as { executionPayload: object }
  const empty = payloadFromJson(built.executionPayload)
  const transactions = [...empty.transactions, loopTransaction(driver)]
  const payload = { ...empty, transactions, gasLimit: BigInt(MANY_GAS), gasUsed: BigInt(MANY_GAS) }
  return { ...payload, blockHash: payloadBlockHash({ payload, parentBeaconBlockRoot: ZERO_HASH }) }
}

/** Sends a call without waiting for the response. */
function call(geth: RunningGeth, method: string, params: readonly unknown[], url = geth.engineUrl): void {
  const isEngine = url === geth.engineUrl
  const client = isEngine ? geth.engine : undefined
  if (client !== undefined) client.request(method, params).catch(() => {})
  else {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).catch(() => {})
  }
}

const loopCall = { from: DEV_ADDRESSES[0], to: LOOP, gas: MANY_GAS }

export const GETH_STATES: StopState[] = [
  {
    state: 'at rest, with clients connected',
    async reach(world) {
      const { geth } = await startGeth(world)
      await fetch(geth.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
      return { program: geth.program }
    },
  },
  {
    state: 'running a call',
    async reach(world) {
      const { geth } = await startGeth(world)
      call(geth, 'eth_call', [loopCall, 'latest'], geth.url)
      await geth.program.has(/devium-rpc/)
      return { program: geth.program }
    },
  },
  {
    state: 'its RPC process is loading',
    async reach(world) {
      const { geth } = await startGeth(world)
      call(geth, 'eth_call', [loopCall, 'latest'], geth.url)
      await geth.program.has(/rpcMain|devium-rpc/)
      return { program: geth.program }
    },
  },
  {
    state: 'building a block with a forced transaction',
    async reach(world) {
      const setup = await startGeth(world)
      const { geth, driver } = setup
      const { parentHash, json } = await driver.attributes({ transactions: [loopTransaction(driver)], noTxPool: true })
      call(geth, 'engine_forkchoiceUpdatedV3', [forkchoice(parentHash), { ...json, gasLimit: MANY_GAS }])
      await begun(geth)
      return { program: geth.program }
    },
  },
  {
    state: 'executing a block',
    async reach(world) {
      const { geth, driver } = await startGeth(world)
      const payload = payloadToJson(await endlessBlock(geth.engine, driver))
      call(geth, 'engine_newPayloadV3', [payload, [], ZERO_HASH])
      await begun(geth)
      return { program: geth.program }
    },
  },
  {
    state: 'executing blocks again at the start',
    async reach(world) {
      const setup = await startGeth(world)
      const { geth, driver } = setup
      // Two seconds of work. A program killed right after has not written its state.
      await driver.build({ transactions: [loopTransaction(driver, { gasLimit: 29_000_000n })], noTxPool: true })
      await driver.build({
        transactions: [loopTransaction(driver, { gasLimit: 29_000_000n, nonce: 1 })],
        noTxPool: true,
      })
      await geth.program.killFirst()
      const again = world.start('devium-geth', world.gethArgs())
      await again.prints(/Executing blocks again/)
      return { program: again }
    },
  },
  {
    state: 'tracing a block',
    async reach(world) {
      const setup = await startGeth(world)
      const { geth, driver } = setup
      await driver.build({ transactions: [loopTransaction(driver, { gasLimit: 2_000_000n })], noTxPool: true })
      call(geth, 'debug_traceBlockByNumber', ['latest'], geth.url)
      await geth.program.has(/devium-rpc/)
      return { program: geth.program }
    },
  },
  {
    state: 'reading a large message',
    async reach(world) {
      const { geth } = await startGeth(world)
      const call = {
        jsonrpc: '2.0',
        id: 1,
        method: 'eth_call',
        params: [{ ...loopCall, data: toHex(new Uint8Array(300_000)) }, 'latest'],
      }
      const headers = { 'content-type': 'application/json' }
      fetch(geth.url, { method: 'POST', headers, body: JSON.stringify(Array(5).fill(call)) }).catch(() => {})
      await geth.program.has(/devium-rpc/)
      return { program: geth.program }
    },
  },
]

/** Resolves when earlier requests have started, after some iterations of the event loop. */
async function begun({ engine }: RunningGeth): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await engine.request('eth_chainId', [])
}
