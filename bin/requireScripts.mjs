// For programs of a clone. A side-effect import, because TypeScript has no types for plain JavaScript.
import { requireScripts } from './installedNode.mjs'

requireScripts()
