import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { toBlock } from '../../../src/execution/chain/blockReader.ts'
import { sealHeader } from '../../../src/execution/chain/storage/headerCodec.ts'
import { encodeBlock } from '../../../src/execution/index.ts'
import { BlockDriver } from '../../../src/execution/testUtils/blockDriver.ts'
import { decodeTransaction, payloadToHeader } from '../../../src/rollup/protocol/index.ts'
import { type ExecutionPayload, ZERO_HASH } from '../../../src/rollup/protocol/types.ts'
import { endlessBlock, loadLoopGenesis } from './gethStates.ts'
import { SILENCE } from './servers.ts'
import type { StopState } from './states.ts'
import type { StoppedProgram } from './stoppedProgram.ts'
import type { World } from './world.ts'

// Long-running commands of devium and devium-geth, and the states in which they receive the stop signal.

/** Simulates a terminal for a program. */
const TERMINAL = `
  Object.assign(process.stdin, { isTTY: true, setRawMode() {} })
  Object.assign(process.stdout, { isTTY: true, columns: 80, rows: 24 })`

const ACCOUNTS = 300_000

export const TOOL_STATES: StopState[] = [
  {
    state: 'devium status of a node that does not answer',
    async reach(world) {
      const node = await world.rpc(() => SILENCE)
      const program = world.start('devium', ['status', `--rpc=${node.url}`])
      await node.called('devium_syncStatus')
      return { program }
    },
    // The program has nothing to close.
    ending: { code: null, signal: 'SIGTERM' },
    isMute: true,
  },
  {
    state: 'devium watch of a node that does not answer',
    async reach(world) {
      const node = await world.rpc(() => SILENCE)
      const program = world.start('devium', ['watch', `--rpc=${node.url}`], { preload: TERMINAL })
      await node.called('devium_syncStatus')
      return { program }
    },
    isMute: true,
  },
  {
    state: 'devium-geth init with many accounts',
    async reach(world) {
      const { genesis } = loadLoopGenesis()
      const accounts = Array.from({ length: ACCOUNTS }, (_, index) => [
        `0x${(index + 1).toString(16).padStart(40, 'a')}`,
        { balance: '0x1' },
      ])
      const alloc = { ...genesis.alloc, ...Object.fromEntries(accounts) }
      // The warning about the unknown member is the last line before work that takes seconds.
      const path = world.json('large.json', { ...genesis, config: { ...genesis.config, karstTmie: 0 }, alloc })
      const program = world.start('devium-geth', ['init', `--datadir=${world.path('geth')}`, path])
      await program.prints(/karstTmie/)
      return { program }
    },
    ending: { code: null, signal: 'SIGTERM' },
    isMute: true,
  },
  {
    state: 'devium-geth import of a block that takes long',
    async reach(world) {
      const { genesis, rollup } = loadLoopGenesis()
      const geth = await world.geth(genesis)
      const payload = await endlessBlock(geth.engine, new BlockDriver(geth.engine, rollup))
      await geth.program.stop('the first process')
      const program = await startImport(world, encodedBlock(payload))
      return { program }
    },
    ending: { code: 1 },
  },
]

/** Number of blocks that are read before the first one is executed. */
const BLOCKS_AHEAD = 130

/** Imports from a pipe. The writer waits until it is opened, which shows that the import has started. */
async function startImport(world: World, block: Uint8Array): Promise<StoppedProgram> {
  const path = world.path('blocks.rlp')
  execFileSync('mkfifo', [path])
  const datadir = `--datadir=${world.path('geth')}`
  const program = world.start('devium-geth', ['import', datadir, '--log.format=json', path])
  await writeFile(path, Buffer.concat(Array(BLOCKS_AHEAD).fill(block)))
  return program
}

function encodedBlock(payload: ExecutionPayload): Uint8Array {
  const header = sealHeader(payloadToHeader({ payload, parentBeaconBlockRoot: ZERO_HASH }))
  return encodeBlock(
    toBlock(
      header,
      payload.transactions.map((raw) => decodeTransaction(raw)),
    ),
  )
}
