const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

/** What `test/cluster/cluster.sh check` says is missing, or undefined. test/config/cluster.js needs it as JavaScript. */
exports.missingPackages = () => {
  const check = spawnSync('/bin/bash', [join(__dirname, '../../cluster/cluster.sh'), 'check', 'pgbouncer'], {
    encoding: 'utf8',
  });
  return check.status === 0 ? undefined : check.stderr.trim() || 'there is no bash';
};
