import { BlockDriver } from '../../../src/execution/testUtils/blockDriver.ts'
import { loadLoopGenesis, loopTransaction } from './gethStates.ts'
import { SILENCE } from './servers.ts'
import type { StopState } from './states.ts'

// Commands of devium and devium-geth that run for long: what they are at when they are told to stop.

/** Makes a program believe that it has a terminal. */
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
    // There is nothing to close.
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
      const path = world.json('large.json', { ...genesis, alloc })
      const program = world.start('devium-geth', ['init', `--datadir=${world.path('geth')}`, path])
      await program.prints(/Reading the genesis state/)
      return { program }
    },
    ending: { code: null, signal: 'SIGTERM' },
    isMute: true,
  },
  {
    state: 'devium-geth import of blocks that take long',
    async reach(world) {
      const { genesis, rollup } = loadLoopGenesis()
      const geth = await world.geth(genesis)
      const driver = new BlockDriver(geth.engine, rollup)
      for (const nonce of [0, 1]) {
        const transaction = loopTransaction(driver, { gasLimit: 29_000_000n, nonce })
        await driver.build({ transactions: [transaction], noTxPool: true })
      }
      await geth.program.stop('the first process')
      const file = world.path('blocks.rlp')
      await world.start('devium-geth', ['export', `--datadir=${world.path('geth')}`, file]).ended
      const datadir = `--datadir=${world.path('other')}`
      await world.start('devium-geth', ['init', datadir, world.json('genesis.json', genesis)]).ended
      const program = world.start('devium-geth', ['import', datadir, '--log.format=json', file])
      // The second one is next.
      await program.prints(/Importing blocks.*"number":1\b/)
      return { program }
    },
    ending: { code: 1 },
  },
]
