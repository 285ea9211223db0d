import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { BuiltBlock } from '../src/execution/chain/types.ts'
import { createRpcClient } from '../src/lib/jsonRpc/client.ts'
import { createEngineClient } from '../src/rollup/engine/index.ts'
import type { RollupConfig } from '../src/rollup/protocol/types.ts'
import { ZERO_HASH } from '../src/rollup/protocol/types.ts'
import { freePort } from '../test/support/programs.ts'

/** Kernel clock ticks a second, as `/proc` counts them. */
const TICKS = 100

/** An op-geth that blocks are given to, on one core. */
export interface Reference {
  /** Processor seconds that it takes to import the blocks and make each the head. */
  secondsFor(blocks: readonly BuiltBlock[]): Promise<number>
  stop(): Promise<void>
}

/** undefined where DEVIUM_OP_GETH names none. */
export async function startReference(genesis: unknown, config: RollupConfig): Promise<Reference | undefined> {
  const binary = process.env.DEVIUM_OP_GETH
  if (binary === undefined) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'devium-bench-geth-'))
  const [genesisPath, jwtPath, port] = [join(directory, 'genesis.json'), join(directory, 'jwt.txt'), await freePort()]
  const secret = randomBytes(32)
  await writeFile(genesisPath, JSON.stringify(genesis))
  await writeFile(jwtPath, secret.toString('hex'))
  const data = ['--state.scheme=hash', `--datadir=${directory}`]
  execFileSync(binary, ['init', ...data, genesisPath], { stdio: 'ignore' })
  const flags = [`--authrpc.port=${port}`, `--authrpc.jwtsecret=${jwtPath}`, '--port=0', '--nodiscover', '--maxpeers=0']
  const env = { ...process.env, GOMAXPROCS: '1' }
  const child = spawn(binary, [...data, ...flags, '--syncmode=full', '--nat=none', '--ipcdisable'], {
    env,
    stdio: 'ignore',
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const rpc = createRpcClient({ url: `http://127.0.0.1:${port}`, jwtSecret: secret })
  const engine = createEngineClient({ rpc }, config)
  for (let attempt = 0; ; attempt++) {
    try {
      await engine.chainId()
      break
    } catch (error) {
      if (attempt === 100) throw error
      await delay(100)
    }
  }
  const cpuSeconds = async () => {
    const fields = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  }
  return {
    async secondsFor(blocks) {
      const before = await cpuSeconds()
      for (const { envelope } of blocks) {
        const { blockHash } = envelope.payload
        const { status } = await engine.newPayload(envelope)
        if (status !== 'VALID') throw new Error(`op-geth: ${status} for block ${envelope.payload.blockNumber}`)
        await engine.forkchoiceUpdated({
          headBlockHash: blockHash,
          safeBlockHash: ZERO_HASH,
          finalizedBlockHash: ZERO_HASH,
        })
      }
      return (await cpuSeconds()) - before
    },
    async stop() {
      await rpc.close()
      child.kill('SIGTERM')
      await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}
