# Print the targets that make must build before the tests FILE... can run, one a
# line:
#
#	sh tests/needs.sh FILE...
#
# The script searches the test files, and the .bash files that they load, for
# the names of tools.  A file that runs scripts of share/, or tests every tool,
# needs all tools.
cd "${srcdir:-.}" || exit 1
for file; do
	case $file in
	*.bats)
		loaded=$(sed -n 's/^load \([a-z-]*\)$/tests\/bats\/\1.bash/p' "$file" |
			grep -v /common.bash)
		# shellcheck disable=SC2086	# file names without blanks
		if grep -qE '\$(share|TOOLS|testbed)\b' "$file" $loaded; then
			echo all
		else
			grep -ohE '\binnet-[a-z]+\b|\binnet_per\.so\b|\$per_module|\$library' \
				"$file" $loaded |
				sed 's/\$per_module/innet_per.so/; s/\$library/libinnet.so/'
		fi ;;
	esac
done | sort -u
