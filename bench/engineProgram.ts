import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BuiltBlock } from '../src/execution/chain/building.ts'
import { createRpcClient } from '../src/jsonRpc/client.ts'
import { createEngineClient, type EngineClient } from '../src/rollup/engine/index.ts'
import type { RollupConfig } from '../src/rollup/protocol/types.ts'
import { ZERO_HASH } from '../src/rollup/protocol/types.ts'
import { claimPort } from '../test/support/programs.ts'
import { memoryMb, processorSeconds } from './processStats.ts'

const OWN = fileURLToPath(new URL('../bin/devium-geth.mjs', import.meta.url))

/** An execution client that gets blocks by its Engine API. */
export interface EngineProgram {
  readonly engine: EngineClient
  /** Processor seconds to import the blocks and make each the head. */
  secondsFor(blocks: readonly Pick<BuiltBlock, 'envelope'>[]): Promise<number>
  /** Peak memory in megabytes. */
  peakMegabytes(): number
  stop(): Promise<void>
}

/** Starts devium-geth. */
export function startOwn(genesis: unknown, config: RollupConfig, flags: string[] = []): Promise<EngineProgram> {
  return start([process.execPath, OWN], genesis, config, [], flags)
}

/** Starts an op-geth on one core; undefined if DEVIUM_OP_GETH is not set. */
export async function startReference(
  genesis: unknown,
  config: RollupConfig,
  flags: string[] = [],
  cores = 1,
): Promise<EngineProgram | undefined> {
  const binary = process.env.DEVIUM_OP_GETH
  return binary === undefined ? undefined : start([binary], genesis, config, ['--state.scheme=hash'], flags, cores)
}

async function start(
  [program, ...first]: [string, ...string[]],
  genesis: unknown,
  config: RollupConfig,
  more: string[],
  runFlags: string[],
  cores = 1,
): Promise<EngineProgram> {
  const directory = await mkdtemp(join(tmpdir(), 'devium-bench-engine-'))
  const [genesisPath, jwtPath, port] = [join(directory, 'genesis.json'), join(directory, 'jwt.txt'), await claimPort()]
  const secret = randomBytes(32)
  await writeFile(genesisPath, JSON.stringify(genesis))
  await writeFile(jwtPath, secret.toString('hex'))
  const data = [...more, `--datadir=${directory}`]
  execFileSync(program, [...first, 'init', ...data, genesisPath], { stdio: 'ignore' })
  const flags = [`--authrpc.port=${port}`, `--authrpc.jwtsecret=${jwtPath}`, '--port=0', '--nodiscover', '--maxpeers=0']
  const env = { ...process.env, GOMAXPROCS: String(cores) }
  const child = spawn(
    program,
    [...first, ...data, ...flags, ...runFlags, '--syncmode=full', '--nat=none', '--ipcdisable'],
    {
      env,
      stdio: 'ignore',
    },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const rpc = createRpcClient({ url: `http://127.0.0.1:${port}`, jwtSecret: secret })
  const engine = createEngineClient({ rpc }, config, { timeoutMs: 60_000 })
  for (let attempt = 0; ; attempt++) {
    try {
      await engine.chainId()
      break
    } catch (error) {
      if (attempt === 300) throw error
      await delay(100)
    }
  }
  const { pid = Number.NaN } = child
  return {
    engine,
    async secondsFor(blocks) {
      const before = processorSeconds(pid)
      for (const { envelope } of blocks) {
        const { blockHash, blockNumber } = envelope.payload
        const { status } = await engine.newPayload(envelope)
        if (status !== 'VALID') throw new Error(`${program}: ${status} for block ${blockNumber}`)
        await engine.forkchoiceUpdated({
          headBlockHash: blockHash,
          safeBlockHash: ZERO_HASH,
          finalizedBlockHash: ZERO_HASH,
        })
      }
      return processorSeconds(pid) - before
    },
    peakMegabytes: () => memoryMb(pid, 'status', 'VmHWM'),
    async stop() {
      await rpc.close()
      child.kill('SIGTERM')
      await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}
