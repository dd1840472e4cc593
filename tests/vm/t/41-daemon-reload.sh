# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# A bad configuration is refused: at start loudly, at reload the old one stays in force.
daemon_config
daemon_start
wait_for 20 status_is .policy.state attached
conf=/etc/migbatch/migbatchd.conf
pid=$(systemctl show -P MainPID migbatchd.service)

sed -i 's/^Target=1ms/Target=3ms/' $conf
run systemctl reload migbatchd.service || fail "reload"
target_ns() {
	migbatchctl -j target list |
		jq '[.. | objects | select(.path? == "/tight.slice") | .target_ns][0]'
}
target_is() {
	[ "$(target_ns)" = "$1" ]
}
wait_for 10 target_is 3000000

sed -i 's/^Target=3ms/Target=three/' $conf
run systemctl reload migbatchd.service || echo "systemctl reload told of it as well"
has_config_error() {
	[ "$(status_of .config_error)" != null ]
}
wait_for 10 has_config_error
same "target after a bad reload" "$(target_ns)" 3000000
same policy "$(policy)" policy_target
daemon_journal | grep -F "$conf:" || fail "the journal does not name file and line"
same "pid of the daemon" "$(systemctl show -P MainPID migbatchd.service)" "$pid"

sed -i 's/^Target=three/Target=4ms/' $conf
run systemctl reload migbatchd.service || fail "reload"
wait_for 10 target_is 4000000
same config_error "$(status_of .config_error)" null

run systemctl stop migbatchd.service
sed -i 's/^Target=4ms/Target=four/' $conf
! systemctl start migbatchd.service || fail "it starts with a bad configuration"
same policy "$(policy)" none
