import { UsageError } from '../lib/errors.ts'
import { blocksTopic } from '../p2p/base/topics.ts'
import { attacksOn } from '../p2p/hostile/attacks.ts'
import { wage } from '../p2p/hostile/wage.ts'
import { reportFatal } from './shared/program.ts'

/**
 * A testnet starts this process to attack a node: `<kind> <multiaddress> <chain id> <payload version>`. It runs until it is
 * killed.
 */
function attack([kind = '', address = '', chainId = '', version = '']: readonly string[]): void {
  const topic = blocksTopic(BigInt(chainId), version === '4' ? 4 : 3)
  const attacks = attacksOn(BigInt(chainId), topic)
  const chosen = attacks[kind]
  if (chosen === undefined)
    throw new UsageError(`unknown attack "${kind}": expected one of ${Object.keys(attacks).join(', ')}`)
  // The attacked node resets its streams and connections all the time.
  process.on('uncaughtException', () => {}).on('unhandledRejection', () => {})
  wage(chosen, { address, topic })
}

try {
  attack(process.argv.slice(2))
} catch (error) {
  reportFatal('hostile peer', error)
  process.exit(1)
}
