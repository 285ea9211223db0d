import { formatDuration } from '../../src/lib/duration.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { L1_PROGRAM } from '../runner/l1.ts'
import type { Handler } from './commandedTestnet.ts'
import { sequencerRpc } from './nodeLookup.ts'

/** `snapshot NAME`. */
export const takeSnapshot: Handler = async (testnet, [name = '']) => {
  const { snapshots, programs } = testnet
  snapshots.checkNew(name)
  // The runner's beacon API ends with the snapshot, and starts again with L1.
  if (!programs.isRunning(L1_PROGRAM)) {
    throw new UsageError('snapshot: L1 does not run; start it first: npx devium testnet start l1')
  }
  let dir = ''
  const stoodMs = await testnet.whileStopped(async () => {
    dir = await snapshots.take(name)
  })
  return {
    did: `${dir} has all data of L1 and of the nodes. The programs were stopped for ${inSeconds(stoodMs)}.`,
    lookAt: `The chain continues. To restore it: npx devium testnet restore ${name}`,
  }
}

/** `restore NAME`. */
export const restoreSnapshot: Handler = async (testnet, [name = '']) => {
  const { snapshots } = testnet
  const ageSeconds = snapshots.ageOf(name)
  const put = await snapshots.prepare(name)
  const stoodMs = await testnet.whileStopped(put, { forgetsData: true })
  return {
    did: `All programs continue from ${name}, taken ${formatDuration(ageSeconds * 1000)} ago. They were stopped for ${inSeconds(stoodMs)}.`,
    lookAt: `The sequencer first builds the blocks of that time: npx devium watch --rpc ${sequencerRpc(testnet)}`,
  }
}

export const exportNetwork: Handler = async (testnet) => {
  const dir = await testnet.export()
  return {
    did: `${dir} has the chain with today's L1 state, compose.yaml, and kubernetes/.`,
    lookAt: `With the image of docs/deploy/Dockerfile: docker compose -f ${dir}/compose.yaml up, or kubectl apply --server-side -k ${dir}/kubernetes`,
  }
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
